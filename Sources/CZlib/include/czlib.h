/// zlib for Swift, whose functions are macros in part.
#pragma once
#include <stddef.h>

/// Compresses as gzip (RFC 1952) into `out`, which has `room` bytes. Returns how many it wrote, or 0 if that is not enough. `level`: 1 (fast) to 9 (small).
/// May be called on any thread.
size_t czlib_gzip(const void *bytes, size_t count, void *out, size_t room, int level);
