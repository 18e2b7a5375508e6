#include "base/args.h"
