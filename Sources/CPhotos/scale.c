// Shrinks and turns pictures.
#include "photos.h"
#include <string.h>

/// The position of the pixel at `place` of `from` among `to` pixels.
static struct share share(uint32_t place, uint32_t from, uint32_t to)
{
    double ratio = (double)to / from, begin = place * ratio, end = begin + ratio;
    struct share share = { .first = (uint32_t)begin };
    if (share.first >= to)
        share.first = to - 1;
    double inside = end <= share.first + 1 ? ratio : share.first + 1 - begin;
    share.inside = (float)inside;
    if (ratio > inside && share.first + 1 < to)
        share.beyond = (float)(ratio - inside);
    return share;
}

struct scaler scale_begin(uint32_t width, uint32_t height, uint32_t side)
{
    uint32_t longest = width > height ? width : height;
    struct scaler scaler = { .from_width = width, .from_height = height };
    scaler.to.width = longest <= side ? width : (uint32_t)((uint64_t)width * side / longest);
    scaler.to.height = longest <= side ? height : (uint32_t)((uint64_t)height * side / longest);
    if (scaler.to.width == 0)
        scaler.to.width = 1;
    if (scaler.to.height == 0)
        scaler.to.height = 1;
    scaler.to.pixels = photo_allocate((size_t)scaler.to.width * scaler.to.height, 3);
    scaler.shares = photo_allocate(width, sizeof(struct share));
    for (uint32_t x = 0; x < width; x++)
        scaler.shares[x] = share(x, width, scaler.to.width);
    scaler.sums = photo_allocate((size_t)scaler.to.width * 3, sizeof(float));
    scaler.next = photo_allocate((size_t)scaler.to.width * 3, sizeof(float));
    return scaler;
}

/// Adds a row to the sums, each pixel in proportion to its overlap with each pixel of the sums.
static void add(const struct scaler *scaler, const uint8_t *row, float weight, float *sums)
{
    uint32_t to_width = scaler->to.width;
    if (to_width == scaler->from_width) {
        for (uint32_t i = 0; i < to_width * 3; i++)
            sums[i] += weight * row[i];
        return;
    }
    for (uint32_t x = 0; x < scaler->from_width; x++, row += 3) {
        const struct share *share = scaler->shares + x;
        float *sum = sums + (size_t)share->first * 3;
        float inside = weight * share->inside;
        for (int c = 0; c < 3; c++)
            sum[c] += inside * row[c];
        if (share->beyond > 0)
            for (int c = 0; c < 3; c++)
                sum[3 + c] += weight * share->beyond * row[c];
    }
}

static void finish_row(struct scaler *scaler, uint32_t y)
{
    uint8_t *out = scaler->to.pixels + (size_t)y * scaler->to.width * 3;
    for (uint32_t i = 0; i < scaler->to.width * 3; i++) {
        float value = scaler->sums[i] + 0.5f;
        out[i] = value >= 255 ? 255 : (uint8_t)value;
    }
    float *done = scaler->sums;
    scaler->sums = scaler->next;
    scaler->next = done;
    memset(done, 0, (size_t)scaler->to.width * 3 * sizeof(float));
}

void scale_row(struct scaler *scaler, const uint8_t *row)
{
    uint32_t y = scaler->row++;
    if (y >= scaler->from_height)
        return;
    if (scaler->to.height == scaler->from_height) {
        add(scaler, row, 1, scaler->sums);
        return finish_row(scaler, y);
    }
    struct share place = share(y, scaler->from_height, scaler->to.height);
    add(scaler, row, place.inside, scaler->sums);
    if (place.beyond > 0)
        add(scaler, row, place.beyond, scaler->next);
    bool is_last = y + 1 == scaler->from_height;
    if (is_last || share(y + 1, scaler->from_height, scaler->to.height).first > place.first)
        finish_row(scaler, place.first);
}

struct picture scale_whole(struct picture picture, uint32_t side)
{
    struct scaler scaler = scale_begin(picture.width, picture.height, side);
    for (uint32_t y = 0; y < picture.height; y++)
        scale_row(&scaler, picture.pixels + (size_t)y * picture.width * 3);
    return scaler.to;
}

struct picture turn(struct picture from, int orientation)
{
    if (orientation < 2 || orientation > 8)
        return from;
    // 5 to 8 swap the axes; then: mirrored in x, in y, or in both.
    bool swaps = orientation >= 5;
    bool flips_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool flips_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    struct picture to = { .width = swaps ? from.height : from.width, .height = swaps ? from.width : from.height };
    to.pixels = photo_allocate((size_t)to.width * to.height, 3);
    for (uint32_t y = 0; y < to.height; y++)
        for (uint32_t x = 0; x < to.width; x++) {
            uint32_t from_x = swaps ? y : x, from_y = swaps ? x : y;
            if (flips_x)
                from_x = from.width - 1 - from_x;
            if (flips_y)
                from_y = from.height - 1 - from_y;
            memcpy(to.pixels + ((size_t)y * to.width + x) * 3,
                   from.pixels + ((size_t)from_y * from.width + from_x) * 3, 3);
        }
    return to;
}
