/// Signatures, HMACs and SHA-1 for Swift: OpenSSL's libcrypto.
///
/// A key is made once, never changes, and is freed by its owner. Any number of threads may use it at the same time, since each
/// call has a context of its own. No call leaves an entry in the thread's queue of OpenSSL's errors, which TLS reads.
#pragma once
#include <stdbool.h>
#include <stddef.h>

/// A public key, or a private one with its public half.
struct evp_pkey_st;

/// Signatures with key pairs (RFC 7518, section 3.1; RFC 8037).
enum csigning_scheme {
    csigning_rs256,
    csigning_rs384,
    csigning_rs512,
    csigning_ps256,
    csigning_es256,
    csigning_es384,
    csigning_eddsa,
};

enum {
    /// Bytes of the longest signature: RSA of 8192 bits, the longest keys that are accepted.
    csigning_longest_signature = 1024,
    /// Bytes of the longest HMAC.
    csigning_longest_code = 64,
};

// The next three make a key, which the caller owns and frees with `csigning_key_free`. They return NULL for a key of
// another scheme, a weak one (RSA below 2048 bits), and an invalid one (another curve, a point beside the curve).

/// From PEM: SubjectPublicKeyInfo, PKCS #1, or a certificate, of which only the key is used. Exactly one, and no
/// private key.
struct evp_pkey_st *csigning_public_key(enum csigning_scheme scheme, const char *pem, size_t size);
/// From PEM: PKCS #8, PKCS #1 or SEC 1, not encrypted. Exactly one, whose halves match.
struct evp_pkey_st *csigning_private_key(enum csigning_scheme scheme, const char *pem, size_t size);
/// From the numbers of a JSON Web Key, big-endian: RSA's modulus and exponent, a curve's x and y, or Ed25519's x alone.
struct evp_pkey_st *csigning_key_of_numbers(
    enum csigning_scheme scheme, const unsigned char *first, size_t first_size, const unsigned char *second,
    size_t second_size);
void csigning_key_free(struct evp_pkey_st *key);

/// Whether `signature` is the key's over `data`. One of ECDSA is two numbers in a row (RFC 7518, section 3.4).
bool csigning_verify(
    struct evp_pkey_st *key, enum csigning_scheme scheme, const unsigned char *data, size_t size,
    const unsigned char *signature, size_t signature_size);
/// Writes the private key's signature over `data` to `signature`, which has room for the longest. Returns its length, or 0 if
/// there is no memory.
size_t csigning_sign(
    struct evp_pkey_st *key, enum csigning_scheme scheme, const unsigned char *data, size_t size,
    unsigned char *signature);

/// A secret that the hash has processed already, so that a call only hashes its data.
struct evp_mac_ctx_st;
enum csigning_hash { csigning_sha256, csigning_sha384, csigning_sha512 };

/// The caller owns it and frees it with `csigning_hmac_free`; NULL if there is no memory. `key` is not kept.
struct evp_mac_ctx_st *csigning_hmac_make(enum csigning_hash hash, const unsigned char *key, size_t size);
void csigning_hmac_free(struct evp_mac_ctx_st *hmac);
/// Writes the HMAC of `data` to `code`, which has room for the longest. Returns its length, or 0 if there is no memory.
size_t csigning_hmac_code(
    const struct evp_mac_ctx_st *hmac, const unsigned char *data, size_t size, unsigned char *code);
/// Whether `code` is the whole HMAC of `data`. The comparison takes the same time wherever they differ.
bool csigning_hmac_verify(
    const struct evp_mac_ctx_st *hmac, const unsigned char *data, size_t size, const unsigned char *code,
    size_t code_size);

/// Writes the SHA-1 of `data`, 20 bytes, for the handshake of WebSockets. SHA-1 protects nothing any more.
bool csigning_sha1(const unsigned char *data, size_t size, unsigned char *digest);
