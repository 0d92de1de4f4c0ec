// The decoding process. It reads a picture from descriptor 0, and writes to 1 two numbers of 4 bytes (little-endian)
// and that many bytes of the photo and its thumbnail. Its exit status is 0, or photo_not_an_image with nothing written.
#include "photos.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Noreturn void photo_refuse(void) { _exit(photo_not_an_image); }

void *photo_allocate(size_t count, size_t size)
{
    void *room = calloc(count, size);
    if (!room)
        photo_refuse();
    return room;
}

void photo_check_size(uint32_t width, uint32_t height)
{
    if (width == 0 || height == 0 || (uint64_t)width * height > photo_most_pixels)
        photo_refuse();
}

static uint8_t *read_all(size_t *count)
{
    uint8_t *bytes = photo_allocate(photo_most_input, 1);
    *count = 0;
    for (;;) {
        ssize_t came = *count < photo_most_input ? read(0, bytes + *count, photo_most_input - *count) : -1;
        if (came < 0)
            photo_refuse();
        if (came == 0)
            return bytes;
        *count += (size_t)came;
    }
}

static void write_all(const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t went = write(1, bytes, count);
        if (went <= 0)
            _exit(photo_failed);
        bytes += went;
        count -= (size_t)went;
    }
}

static void write_number(size_t number)
{
    uint8_t bytes[4] = { number & 255, number >> 8 & 255, number >> 16 & 255, number >> 24 & 255 };
    write_all(bytes, sizeof bytes);
}

static _Noreturn void work(void)
{
    // Confines the process before it reads the first byte.
    if (!confine(photo_cpu_seconds))
        _exit(photo_failed);
    size_t count;
    uint8_t *bytes = read_all(&count);
    int orientation = 1;
    struct picture picture;
    if (count > 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
        picture = read_jpeg(bytes, count, &orientation);
    else if (count > 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        picture = read_png(bytes, count, &orientation);
    else
        photo_refuse();
    picture = turn(picture, orientation);
    uint8_t *photo, *thumbnail;
    size_t photo_bytes = write_jpeg(picture, &photo);
    size_t thumbnail_bytes = write_jpeg(scale_whole(picture, photo_thumbnail_side), &thumbnail);
    write_number(photo_bytes);
    write_number(thumbnail_bytes);
    write_all(photo, photo_bytes);
    write_all(thumbnail, thumbnail_bytes);
    _exit(photo_done);
}

/// Runs before `main` in every program that links this library. So the worker is the server's own executable, which is
/// always present, and has nothing of the server in it: no thread, no file, no secret.
__attribute__((constructor)) static void begin(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], photo_worker_name) == 0)
        work();
}
