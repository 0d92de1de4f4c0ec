/// For the files of this folder that embed others. An entry of one is
///
///     static const unsigned char NAME_bytes[] = {
///     #embed "../PATH/OF/FILE"
///     };
///     ASSET(NAME)
///
/// and its accessor is declared in include/assets.h. (Swift does not import C's arrays of an unknown length, hence the
/// accessors.)
#pragma once
#include "assets.h"

// The compiler's default is C17, for which it calls `#embed` an extension.
#pragma clang diagnostic ignored "-Wc23-extensions"

/// The accessor of the file that is embedded in NAME_bytes.
#define ASSET(name) \
    struct asset asset_##name(void) { return (struct asset){ name##_bytes, sizeof name##_bytes }; }
