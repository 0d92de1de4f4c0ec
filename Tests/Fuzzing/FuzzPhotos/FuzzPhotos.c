// The process that decodes pictures, complete except for its confinement, once for each input. The fuzzer replaces its
// input, its output and its exit. The process frees nothing, since it ends after its only picture; so the fuzzer frees
// the rest.
//
// Our own code is instrumented, libjpeg and libpng are not: their heap accesses out of bounds show only in the calls
// that AddressSanitizer intercepts.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t fuzz_read(int descriptor, void *room, size_t count);
static ssize_t fuzz_write(int descriptor, const void *bytes, size_t count);
static _Noreturn void fuzz_exit(int status);
static void *fuzz_calloc(size_t count, size_t size);

#define read fuzz_read
#define write fuzz_write
#define _exit fuzz_exit
#define calloc fuzz_calloc
#include "photos.h"
#define confine(cpu_seconds) true
#include "worker.c"
#undef confine
#undef read
#undef write
#undef _exit
#undef calloc

static struct {
    const uint8_t *bytes;
    size_t left;
    /// The written bytes: the first ones, and the total number.
    uint8_t head[8];
    size_t written;
    size_t allocated;
    jmp_buf end;
} run;

static ssize_t fuzz_read(int descriptor, void *room, size_t count)
{
    if (descriptor != 0)
        abort();
    // In pieces, as a file never is.
    size_t piece = run.left < count ? run.left : count;
    if (piece > 1000)
        piece = 1000;
    memcpy(room, run.bytes, piece);
    run.bytes += piece;
    run.left -= piece;
    return (ssize_t)piece;
}

static ssize_t fuzz_write(int descriptor, const void *bytes, size_t count)
{
    if (descriptor != 1)
        abort();
    for (size_t i = 0; i < count && run.written + i < sizeof run.head; i++)
        run.head[run.written + i] = ((const uint8_t *)bytes)[i];
    run.written += count;
    return (ssize_t)count;
}

static _Noreturn void fuzz_exit(int status) { longjmp(run.end, status + 1); }

/// The process has 768 MiB: larger allocations fail there, too.
static void *fuzz_calloc(size_t count, size_t size)
{
    enum { most = 768 * 1024 * 1024 };
    if (size != 0 && count > most / size)
        return NULL;
    run.allocated += count * size;
    return run.allocated > most ? NULL : calloc(count, size);
}

// ---- Memory left after a run ----

int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *, size_t),
                                              void (*freed)(const volatile void *));

/// Open addressing; a power of two, several times as many as a picture has parts.
enum { places = 1 << 16 };
static const volatile void *kept[places];
static bool is_counting;

static size_t place_of(const volatile void *pointer) { return ((uintptr_t)pointer >> 4) * 0x9E3779B97F4A7C15u >> 48; }

static void note_allocated(const volatile void *pointer, size_t size)
{
    (void)size;
    if (!is_counting || !pointer)
        return;
    for (size_t i = 0, place = place_of(pointer); i < places; i++, place = (place + 1) % places)
        if (!kept[place] || kept[place] == &kept) {
            kept[place] = pointer;
            return;
        }
}

static void note_freed(const volatile void *pointer)
{
    if (!is_counting || !pointer)
        return;
    for (size_t i = 0, place = place_of(pointer); i < places && kept[place]; i++, place = (place + 1) % places)
        if (kept[place] == pointer) {
            // This place was occupied; entries behind it must still be found.
            kept[place] = &kept;
            return;
        }
}

static void free_all(void)
{
    is_counting = false;
    for (size_t place = 0; place < places; place++)
        if (kept[place] && kept[place] != &kept)
            free((void *)kept[place]);
    memset(kept, 0, sizeof kept);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    __sanitizer_install_malloc_and_free_hooks(note_allocated, note_freed);
    return 0;
}

static size_t number(const uint8_t *bytes)
{
    return (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    // A decoder's own memory has other data behind it; the input has none.
    int orientation = exif_orientation(bytes, count);
    if (orientation < 1 || orientation > 8)
        abort();
    run.bytes = bytes;
    run.left = count;
    run.written = run.allocated = 0;
    is_counting = true;
    int status = setjmp(run.end) - 1;
    if (status < 0)
        work();
    free_all();
    // It is a picture and was written completely, or it is not, and nothing was written.
    size_t picture = number(run.head), thumbnail = number(run.head + 4);
    bool is_right = status == photo_done
        ? run.written == 8 + picture + thumbnail && picture > 0 && picture <= photo_most_bytes && thumbnail > 0
            && thumbnail <= photo_most_bytes
        : status == photo_not_an_image && run.written == 0;
    if (!is_right)
        abort();
    return 0;
}
