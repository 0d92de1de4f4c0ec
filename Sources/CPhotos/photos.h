// Declarations that the files of this folder share.
#pragma once
#include "cphotos.h"
#include <stdbool.h>

static const char photo_worker_name[] = "photo-worker";

/// A picture, three bytes a pixel: red, green, blue.
struct picture {
    uint32_t width, height;
    /// Owned by the process, which frees nothing: it exits after its only picture.
    uint8_t *pixels;
};

/// The position of a pixel in a shorter row. It spans at most two pixels there, since it is not larger than one.
struct share {
    uint32_t first;
    /// Its parts in the first of them, and in the next one.
    float inside, beyond;
};

/// Shrinks a picture row by row, from the first. Each new pixel is the mean over its area.
struct scaler {
    uint32_t from_width, from_height;
    struct picture to;
    /// For each pixel of a row, `from_width` of them.
    struct share *shares;
    /// The next row.
    uint32_t row;
    /// Sums of the current row and of the next one: `to.width` × 3 each.
    float *sums, *next;
};

/// Ends the process: the input is not a picture.
_Noreturn void photo_refuse(void);
/// Allocates memory, or ends the process.
void *photo_allocate(size_t count, size_t size);
/// Ends the process if there are too many pixels, or none.
void photo_check_size(uint32_t width, uint32_t height);

/// Begins a picture whose longest side has at most `side` pixels. A picture is never enlarged.
struct scaler scale_begin(uint32_t width, uint32_t height, uint32_t side);
void scale_row(struct scaler *scaler, const uint8_t *row);
struct picture scale_whole(struct picture picture, uint32_t side);

/// Reads the whole picture, at about photo_side pixels; `orientation` is that of its EXIF, from 1 to 8.
struct picture read_jpeg(const uint8_t *bytes, size_t count, int *orientation);
struct picture read_png(const uint8_t *bytes, size_t count, int *orientation);
/// The orientation in a TIFF header with its first directory; 1 if there is none.
int exif_orientation(const uint8_t *bytes, size_t count);
struct picture turn(struct picture picture, int orientation);

/// Writes at most photo_most_bytes: with less and less detail, then with fewer pixels.
size_t write_jpeg(struct picture picture, uint8_t **bytes);

/// Gives up all rights except to compute, and to read and write open files.
bool confine(int cpu_seconds);
