#include "shim.h"

// A C target needs a source file. All of hiredis that we call, Swift imports as it is.
