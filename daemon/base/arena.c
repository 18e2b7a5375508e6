#include "base/arena.h"
