#include "proto/check.h"
