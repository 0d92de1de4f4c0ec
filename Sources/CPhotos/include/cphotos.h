/// Makes photos from clients' uploads: JPEGs of a bounded size, without the original's metadata. The decoders read
/// untrusted bytes, so they run in a process of their own, which can do nothing but compute.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum {
    /// Pixels of the longest side.
    photo_side = 2048,
    photo_thumbnail_side = 256,
    /// Bytes of the photo, and of the thumbnail.
    photo_most_bytes = 500000,
    /// Pixels of an upload: 40 million take 120 MB, and some 2 s.
    photo_most_pixels = 40000000,
    /// Bytes of an upload.
    photo_most_input = 16 * 1024 * 1024,
    /// Scans of a JPEG, and pixels in all of them: 12 scans of the largest picture, each some 50 ms.
    photo_most_scans = 30,
    photo_most_scanned = 12 * photo_most_pixels,
    /// Seconds of CPU time of the process.
    photo_cpu_seconds = 10,
};

enum photo_outcome {
    photo_done = 0,
    /// The bytes are not a whole picture of a supported kind, or it has too many pixels.
    photo_not_an_image = 1,
    /// A signal ended the process: it made a forbidden call, or took too long.
    photo_killed = 2,
    /// The process could not be started.
    photo_failed = 3,
};

/// The outcome of an upload.
struct photo_result {
    enum photo_outcome outcome;
    /// Bytes in `room`, one after the other.
    size_t picture, thumbnail;
    /// The number of the signal that killed the process, if one did.
    int signal;
    /// CPU time of the process in ms, rounded up.
    int cpu_milliseconds;
};

/// Makes the picture in a file into a photo, in a process of its own. Blocks, at most `timeout` ms.
///
/// - program: an executable that links this library. With `photo_worker_name` as its only argument it does the work
///   before any other code of it runs.
/// - input: a descriptor of a file, whose offset is 0.
/// - room: for 2 × photo_most_bytes + 8 bytes.
struct photo_result photo_make(const char *_Nonnull program, int input, int timeout, uint8_t *_Nonnull room);

/// Runs `act` in a process that is confined like the worker, except for the limit of CPU time, for tests. Returns the
/// status of `waitpid`.
int photo_confined(int cpu_seconds, void (*_Nonnull act)(void));
