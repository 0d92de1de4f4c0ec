// PNG: every colour type and depth, interlaced or not. Transparency becomes white.
#include "photos.h"
#include <png.h>
#include <string.h>

struct source {
    const uint8_t *bytes;
    size_t left;
};

static void read(png_structp png, png_bytep out, size_t count)
{
    struct source *source = png_get_io_ptr(png);
    if (source->left < count)
        photo_refuse();
    memcpy(out, source->bytes, count);
    source->bytes += count;
    source->left -= count;
}

static void fail(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
    photo_refuse();
}

static void silent(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void over_white(const uint8_t *from, uint8_t *row, uint32_t width)
{
    for (uint32_t x = 0; x < width; x++, from += 4, row += 3)
        for (int c = 0; c < 3; c++)
            row[c] = (uint8_t)((from[c] * from[3] + 255u * (255u - from[3]) + 127) / 255);
}

struct picture read_png(const uint8_t *bytes, size_t count, int *orientation)
{
    struct source source = { bytes, count };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, fail, silent);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info)
        photo_refuse();
    png_set_read_fn(png, &source, read);
    // Compressed chunks other than the picture are not read.
    static const uint8_t unread[] = "iCCP\0iTXt\0tEXt\0zTXt\0sPLT";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, unread, 5);
    png_set_user_limits(png, photo_most_pixels, photo_most_pixels);
    png_read_info(png, info);
    uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    photo_check_size(width, height);
    png_bytep exif;
    png_uint_32 exif_bytes;
    if (png_get_eXIf_1(png, info, &exif_bytes, &exif))
        *orientation = exif_orientation(exif, exif_bytes);
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    size_t stride = png_get_rowbytes(png, info);
    if (stride != (size_t)width * 4)
        photo_refuse();
    // An interlaced picture is whole only after its last pass.
    uint32_t kept = passes > 1 ? height : 1;
    uint8_t *rows = photo_allocate(kept, stride), *row = photo_allocate(width, 3);
    for (int pass = 0; pass + 1 < passes; pass++)
        for (uint32_t y = 0; y < height; y++)
            png_read_row(png, rows + y * stride, NULL);
    struct scaler scaler = scale_begin(width, height, photo_side);
    for (uint32_t y = 0; y < height; y++) {
        uint8_t *read = rows + (kept > 1 ? y * stride : 0);
        png_read_row(png, read, NULL);
        over_white(read, row, width);
        scale_row(&scaler, row);
    }
    // Requires the end of the data too.
    png_read_end(png, NULL);
    return scaler.to;
}
