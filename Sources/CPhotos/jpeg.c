// JPEG: baseline and progressive; grey, colour and CMYK.
#include "photos.h"
#include <stdio.h>
#include <jerror.h>
#include <jpeglib.h>
#include <string.h>

/// Rejects a picture whose data end early or are damaged. libjpeg would continue with grey.
static void emit(j_common_ptr info, int level)
{
    if (level >= 0)
        return;
    switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
        // These warnings lose nothing of the picture.
        return;
    }
    photo_refuse();
}

static void fail(j_common_ptr info)
{
    (void)info;
    photo_refuse();
}

static void silent(j_common_ptr info) { (void)info; }

static void set_errors(struct jpeg_error_mgr *errors)
{
    jpeg_std_error(errors);
    errors->error_exit = fail;
    errors->emit_message = emit;
    errors->output_message = silent;
}

/// Limits the scans, because a few bytes can declare thousands of scans over the whole picture. Cameras and programs
/// write up to some 12.
static void watch(j_common_ptr info)
{
    j_decompress_ptr picture = (j_decompress_ptr)info;
    uint64_t scans = picture->input_scan_number > 0 ? (uint64_t)picture->input_scan_number : 0;
    if (scans > photo_most_scans || scans * picture->image_width * picture->image_height > photo_most_scanned)
        photo_refuse();
}

static int orientation_of(const struct jpeg_decompress_struct *info)
{
    for (jpeg_saved_marker_ptr marker = info->marker_list; marker; marker = marker->next)
        if (marker->marker == JPEG_APP0 + 1 && marker->data_length > 6 && memcmp(marker->data, "Exif\0\0", 6) == 0)
            return exif_orientation(marker->data + 6, marker->data_length - 6);
    return 1;
}

/// Converts CMYK. Adobe's programs write the inks inverted.
static void to_rgb(const uint8_t *inks, uint8_t *row, uint32_t width, bool is_inverted)
{
    for (uint32_t x = 0; x < width; x++, inks += 4, row += 3) {
        unsigned black = is_inverted ? inks[3] : 255u - inks[3];
        for (int c = 0; c < 3; c++)
            row[c] = (uint8_t)((is_inverted ? inks[c] : 255u - inks[c]) * black / 255);
    }
}

struct picture read_jpeg(const uint8_t *bytes, size_t count, int *orientation)
{
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress = { .progress_monitor = watch };
    set_errors(&errors);
    info.err = &errors;
    jpeg_create_decompress(&info);
    info.progress = &progress;
    jpeg_mem_src(&info, bytes, count);
    jpeg_save_markers(&info, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info, TRUE);
    photo_check_size(info.image_width, info.image_height);
    *orientation = orientation_of(&info);
    bool is_cmyk = info.num_components == 4;
    info.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
    // The decoder can shrink at no cost: take its smallest size that is not below the wanted one.
    uint32_t longest = info.image_width > info.image_height ? info.image_width : info.image_height;
    info.scale_denom = 8;
    info.scale_num = 8;
    while (info.scale_num > 1 && (uint64_t)longest * (info.scale_num - 1) / 8 >= photo_side)
        info.scale_num--;
    jpeg_start_decompress(&info);
    struct scaler scaler = scale_begin(info.output_width, info.output_height, photo_side);
    uint8_t *read = photo_allocate(info.output_width, (size_t)info.output_components);
    uint8_t *row = is_cmyk ? photo_allocate(info.output_width, 3) : read;
    while (info.output_scanline < info.output_height) {
        if (jpeg_read_scanlines(&info, &read, 1) != 1)
            photo_refuse();
        if (is_cmyk)
            to_rgb(read, row, info.output_width, info.saw_Adobe_marker);
        scale_row(&scaler, row);
    }
    // Requires the end of the data too.
    jpeg_finish_decompress(&info);
    return scaler.to;
}

static size_t encode(struct picture picture, int quality, uint8_t **bytes)
{
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    set_errors(&errors);
    info.err = &errors;
    jpeg_create_compress(&info);
    unsigned long count = 0;
    *bytes = NULL;
    jpeg_mem_dest(&info, bytes, &count);
    info.image_width = picture.width;
    info.image_height = picture.height;
    info.input_components = 3;
    info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    info.optimize_coding = TRUE;
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
        uint8_t *row = picture.pixels + (size_t)info.next_scanline * picture.width * 3;
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    return count;
}

size_t write_jpeg(struct picture picture, uint8_t **bytes)
{
    for (;;) {
        for (int quality = 85; quality >= 35; quality -= 10) {
            size_t count = encode(picture, quality, bytes);
            if (count <= photo_most_bytes)
                return count;
        }
        uint32_t longest = picture.width > picture.height ? picture.width : picture.height;
        picture = scale_whole(picture, longest * 3 / 4);
    }
}
