/// Makes photos of what clients upload: JPEGs of a bounded size, without anything that was hidden in the original. The decoders
/// read what strangers made, so they run in a process of their own, which may do nothing but compute.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum {
    /// Pixels of the longest side.
    photo_side = 2048,
    photo_thumbnail_side = 256,
    /// Bytes of each of the two.
    photo_most_bytes = 500000,
    /// Pixels of what is read: 40 million are 120 MB, and some 2 s.
    photo_most_pixels = 40000000,
    /// Bytes of what is read.
    photo_most_input = 16 * 1024 * 1024,
    /// Of a JPEG, and pixels in all of them: 12 of the largest picture. Each of its scans costs some 50 ms.
    photo_most_scans = 30,
    photo_most_scanned = 12 * photo_most_pixels,
    /// Of a core, that the process may use.
    photo_cpu_seconds = 10,
};

enum photo_outcome {
    photo_done = 0,
    /// The bytes are no whole picture of a kind that is read, or one of too many pixels.
    photo_not_an_image = 1,
    /// The process was ended by a signal: it did what it may not, or took too long.
    photo_killed = 2,
    /// The process could not be started.
    photo_failed = 3,
};

/// What became of an upload.
struct photo_result {
    enum photo_outcome outcome;
    /// Bytes in `room`, one after the other.
    size_t picture, thumbnail;
    /// What ended the process, if it was killed: a signal's number.
    int signal;
    /// Of a core that the process used, in ms, begun ones whole.
    int cpu_milliseconds;
};

/// Has the picture in a file made into a photo, by a process of its own. Blocks, at most `timeout` ms.
///
/// - program: an executable into which this is linked; it does the work when `photo_worker_name` is its only argument, before
///   anything else of it runs.
/// - input: a descriptor of a file, whose offset is 0.
/// - room: for 2 × photo_most_bytes + 8 bytes.
struct photo_result photo_make(const char *_Nonnull program, int input, int timeout, uint8_t *_Nonnull room);

/// Does `act` in a process that is confined as the worker is, but for the seconds of a core, for tests. The status is that of
/// `waitpid`.
int photo_confined(int cpu_seconds, void (*_Nonnull act)(void));
