// Keys and signatures (Sources/CSigning), with AddressSanitizer, which also finds leaks. No unsigned message is verified, and
// every key that is accepted works.
//
// The first byte of an input selects the call, the second the scheme.
#include "csigning.h"
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { schemes = csigning_eddsa + 1 };

static const unsigned char message[] = "a message that the keys below never signed";

/// A key for each scheme. No input is signed with one.
static struct evp_pkey_st *keys[schemes];

static void make_keys(void)
{
    static const struct {
        const char *family, *curve;
        size_t bits;
    } kinds[schemes] = {
        {"RSA", NULL, 2048}, {"RSA", NULL, 2048}, {"RSA", NULL, 2048}, {"RSA", NULL, 2048},
        {"EC", "P-256", 0},  {"EC", "P-384", 0},  {"ED25519", NULL, 0},
    };
    for (int scheme = 0; scheme < schemes; scheme++) {
        if (kinds[scheme].curve)
            keys[scheme] = EVP_PKEY_Q_keygen(NULL, NULL, kinds[scheme].family, kinds[scheme].curve);
        else if (kinds[scheme].bits)
            keys[scheme] = EVP_PKEY_Q_keygen(NULL, NULL, kinds[scheme].family, kinds[scheme].bits);
        else
            keys[scheme] = EVP_PKEY_Q_keygen(NULL, NULL, kinds[scheme].family);
        if (!keys[scheme])
            abort();
    }
}

static void use(struct evp_pkey_st *key, enum csigning_scheme scheme, const uint8_t *bytes, size_t count)
{
    if (key && csigning_verify(key, scheme, message, sizeof(message), bytes, count))
        abort();
    csigning_key_free(key);
}

static void sign(struct evp_pkey_st *key, enum csigning_scheme scheme)
{
    unsigned char signature[csigning_longest_signature];
    if (!key)
        return;
    size_t size = csigning_sign(key, scheme, message, sizeof(message), signature);
    if (size == 0 || !csigning_verify(key, scheme, message, sizeof(message), signature, size))
        abort();
    csigning_key_free(key);
}

static void mac(const uint8_t *bytes, size_t count)
{
    unsigned char code[csigning_longest_code];
    struct evp_mac_ctx_st *hmac = csigning_hmac_make(csigning_sha256, message, sizeof(message));
    size_t size = csigning_hmac_code(hmac, bytes, count, code);
    if (size != 32 || !csigning_hmac_verify(hmac, bytes, count, code, size) ||
        csigning_hmac_verify(hmac, bytes, count, code, size - 1) ||
        csigning_hmac_verify(hmac, message, sizeof(message), bytes, count))
        abort();
    csigning_hmac_free(hmac);
}

// Each accepted point can be encrypted for, and is the one that was read.
static void seal(const uint8_t *bytes, size_t count)
{
    unsigned char secret[32], key[16], point[65], sealed[csigning_longest_message + 16];
    if (count < 64)
        return;
    struct evp_pkey_st *peer = csigning_key_of_numbers(csigning_es256, bytes, 32, bytes + 32, 32);
    if (peer && (!csigning_agree(keys[csigning_es256], peer, secret) || !csigning_point(peer, point) || memcmp(point + 1, bytes, 64) != 0 ||
                 !csigning_hkdf(bytes, 16, secret, sizeof(secret), bytes, count, key, sizeof(key)) ||
                 csigning_seal(key, secret, bytes, count, sealed) != (count <= csigning_longest_message)))
        abort();
    csigning_key_free(peer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    if (!keys[0])
        make_keys();
    if (count < 2)
        return 0;
    enum csigning_scheme scheme = bytes[1] % schemes;
    const uint8_t kind = bytes[0] % 6;
    bytes += 2, count -= 2;
    switch (kind) {
    case 0: use(csigning_public_key(scheme, (const char *)bytes, count), scheme, bytes, count); break;
    case 1: sign(csigning_private_key(scheme, (const char *)bytes, count), scheme); break;
    case 2: {
        // As JSON Web Keys have them: in halves, or an exponent after a modulus.
        size_t second = scheme == csigning_eddsa ? 0 : scheme > csigning_ps256 ? count / 2 : count < 3 ? count : 3;
        use(csigning_key_of_numbers(scheme, bytes, count - second, bytes + count - second, second), scheme, bytes, count);
        break;
    }
    case 3:
        if (csigning_verify(keys[scheme], scheme, message, sizeof(message), bytes, count))
            abort();
        break;
    case 4: seal(bytes, count); break;
    default: mac(bytes, count);
    }
    if (ERR_peek_error())
        abort();
    return 0;
}
