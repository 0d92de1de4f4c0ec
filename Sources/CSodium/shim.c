#include "csodium.h"
