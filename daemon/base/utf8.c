#include "base/utf8.h"
