#include "shim.h"

// A C target needs a source file. Swift imports hiredis' functions directly.
