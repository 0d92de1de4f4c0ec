#pragma once
#include "csigning.h"
#include <openssl/evp.h>

/// A scheme in OpenSSL's terms.
struct scheme {
    /// The type of its keys.
    const char *family;
    /// NULL if the scheme has its own.
    const char *hash;
    /// RSA only.
    int padding;
    /// ECDSA only: its name, and the bytes of a number.
    const char *curve;
    size_t number;
};

enum { longest_number = 48 };

/// Indexed by `enum csigning_scheme`.
extern const struct scheme schemes[];
