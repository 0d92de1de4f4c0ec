/// zlib for Swift. Some of its functions are macros.
#pragma once
#include <stddef.h>

/// Compresses as gzip (RFC 1952) into `out`, which has `room` bytes. Returns the number of bytes written, or 0 if there
/// is too little room. `level`: 1 (fast) to 9 (small). May be called on any thread.
size_t czlib_gzip(const void *bytes, size_t count, void *out, size_t room, int level);
