/// Signatures, HMACs, SHA-1 and encryption for a key's holder, for Swift: OpenSSL's libcrypto.
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

// Encryption for the holder of a key on P-256, as Web Push has it (RFC 8291).

enum {
    /// Bytes of the longest message that is sealed.
    csigning_longest_message = 4096,
    /// Bytes that fit a private key as PEM.
    csigning_longest_pem = 512,
};

/// A new key for ES256 and for `csigning_agree`, which the caller owns; NULL if there are no random numbers.
struct evp_pkey_st *csigning_new_key(void);
/// Writes the private key in PKCS #8, not encrypted, without a NUL. Returns its length, or 0 if it does not fit.
size_t csigning_private_pem(struct evp_pkey_st *key, char *pem, size_t room);
/// Writes the point of a key on P-256, uncompressed: 65 bytes.
bool csigning_point(struct evp_pkey_st *key, unsigned char *point);
/// Writes the secret that a private key and another's public key on P-256 share (ECDH): 32 bytes.
bool csigning_agree(struct evp_pkey_st *key, struct evp_pkey_st *peer, unsigned char *secret);
/// Derives a key of `size` bytes (RFC 5869, with SHA-256).
bool csigning_hkdf(
    const unsigned char *salt, size_t salt_size, const unsigned char *secret, size_t secret_size,
    const unsigned char *info, size_t info_size, unsigned char *key, size_t size);
/// Encrypts with AES-128-GCM: a key of 16 bytes, a nonce of 12. Writes `size` bytes and 16 of the tag.
bool csigning_seal(
    const unsigned char *key, const unsigned char *nonce, const unsigned char *data, size_t size, unsigned char *sealed);
