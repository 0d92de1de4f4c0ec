// What the files of this folder share.
#pragma once
#include "cphotos.h"
#include <stdbool.h>

static const char photo_worker_name[] = "photo-worker";

/// A picture, three bytes a pixel: red, green, blue.
struct picture {
    uint32_t width, height;
    /// Owned by the process, which frees nothing: it ends with its only picture.
    uint8_t *pixels;
};

/// Where a pixel of a row lies in a shorter row: in two pixels at most, since it is not larger than one.
struct share {
    uint32_t first;
    /// Parts of one: of the first, and of the one behind it.
    float inside, beyond;
};

/// Takes rows of a picture, the first one first, and makes it as large as is wanted, by the mean over the area of each pixel.
struct scaler {
    uint32_t from_width, from_height;
    struct picture to;
    /// Of each pixel of a row, `from_width` of them.
    struct share *shares;
    /// The next row.
    uint32_t row;
    /// Sums of the row that is being made, and of the next one: `to.width` × 3 each.
    float *sums, *next;
};

/// Ends the process: what was read is not a picture.
_Noreturn void photo_refuse(void);
/// Memory, or the end.
void *photo_allocate(size_t count, size_t size);
/// Refuses what has too many pixels, or none.
void photo_check_size(uint32_t width, uint32_t height);

/// Begins to make a picture of which the longest side has at most `side` pixels. None is made larger.
struct scaler scale_begin(uint32_t width, uint32_t height, uint32_t side);
void scale_row(struct scaler *scaler, const uint8_t *row);
struct picture scale_whole(struct picture picture, uint32_t side);

/// Reads all of it, at about photo_side pixels; `orientation` is that of its EXIF, from 1 to 8.
struct picture read_jpeg(const uint8_t *bytes, size_t count, int *orientation);
struct picture read_png(const uint8_t *bytes, size_t count, int *orientation);
/// Of a TIFF header with its first directory; 1 if it does not say.
int exif_orientation(const uint8_t *bytes, size_t count);
struct picture turn(struct picture picture, int orientation);

/// Of at most photo_most_bytes: with ever less detail, then with fewer pixels.
size_t write_jpeg(struct picture picture, uint8_t **bytes);

/// Gives up all rights but to compute, and to read and write what is open.
bool confine(int cpu_seconds);
