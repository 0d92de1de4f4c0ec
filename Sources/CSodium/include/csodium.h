/// libsodium: hashes of passwords, MACs, random bytes.
#pragma once
#include <sodium.h>
