// Reads one field of EXIF: the orientation of the camera.
#include "photos.h"
#include <string.h>

static uint32_t number(const uint8_t *bytes, int count, bool is_big)
{
    uint32_t value = 0;
    for (int i = 0; i < count; i++)
        value |= (uint32_t)bytes[i] << 8 * (is_big ? count - 1 - i : i);
    return value;
}

int exif_orientation(const uint8_t *bytes, size_t count)
{
    enum { entry_bytes = 12, orientation = 0x0112, two_bytes = 3 };
    if (count < 8)
        return 1;
    bool is_big = memcmp(bytes, "MM\0*", 4) == 0;
    if (!is_big && memcmp(bytes, "II*\0", 4) != 0)
        return 1;
    uint32_t place = number(bytes + 4, 4, is_big);
    if (place > count - 2)
        return 1;
    uint32_t entries = number(bytes + place, 2, is_big);
    const uint8_t *entry = bytes + place + 2;
    for (; entries > 0 && (size_t)(bytes + count - entry) >= entry_bytes; entries--, entry += entry_bytes) {
        if (number(entry, 2, is_big) != orientation || number(entry + 2, 2, is_big) != two_bytes)
            continue;
        uint32_t value = number(entry + 8, 2, is_big);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}
