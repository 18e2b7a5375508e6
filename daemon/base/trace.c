#include "base/trace.h"
