#include "czlib.h"
#include <string.h>
#include <zlib.h>

size_t czlib_gzip(const void *bytes, size_t count, void *out, size_t room, int level)
{
    // Adding 16 selects gzip instead of zlib's own format.
    enum { window = 15 + 16, memory = 8 };
    z_stream stream;
    memset(&stream, 0, sizeof(stream));
    if (count > 0xffffffffu || room > 0xffffffffu)
        return 0;
    if (deflateInit2(&stream, level, Z_DEFLATED, window, memory, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)count;
    stream.next_out = out;
    stream.avail_out = (uInt)room;
    size_t written = deflate(&stream, Z_FINISH) == Z_STREAM_END ? stream.total_out : 0;
    deflateEnd(&stream);
    return written;
}
