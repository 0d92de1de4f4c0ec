// Signing and verifying, HMAC and SHA-1.
#include "scheme.h"
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

// Sets RSA's padding. The salt of PSS is as long as the hash (RFC 7518, section 3.5), and MGF1 uses the same hash.
static bool pads(EVP_PKEY_CTX *context, const struct scheme *scheme)
{
    if (!scheme->padding)
        return true;
    return EVP_PKEY_CTX_set_rsa_padding(context, scheme->padding) == 1 &&
        (scheme->padding != RSA_PKCS1_PSS_PADDING ||
         EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1);
}

// ---- ECDSA: two numbers in a token, ASN.1 in OpenSSL ---------------------------------------------------------------------

// Returns the length of `der`, which the caller frees with `OPENSSL_free`, or 0 if there is no memory.
static size_t der_of(const unsigned char *numbers, size_t size, unsigned char **der)
{
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(numbers, (int)size, NULL), *s = BN_bin2bn(numbers + size, (int)size, NULL);
    int length = 0;
    if (pair && r && s && ECDSA_SIG_set0(pair, r, s)) {
        // The pair owns them now.
        r = s = NULL;
        length = i2d_ECDSA_SIG(pair, der);
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(pair);
    return length > 0 ? (size_t)length : 0;
}

static bool numbers_of(const unsigned char *der, size_t size, unsigned char *numbers, size_t number)
{
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)size);
    bool fits = pair && BN_bn2binpad(ECDSA_SIG_get0_r(pair), numbers, (int)number) > 0 &&
        BN_bn2binpad(ECDSA_SIG_get0_s(pair), numbers + number, (int)number) > 0;
    ECDSA_SIG_free(pair);
    return fits;
}

// ---- Signatures --------------------------------------------------------------------------------------------------------

bool csigning_verify(
    EVP_PKEY *key, enum csigning_scheme number, const unsigned char *data, size_t size, const unsigned char *signature,
    size_t signature_size)
{
    const struct scheme *scheme = &schemes[number];
    unsigned char *der = NULL;
    if (scheme->curve && signature_size != 2 * scheme->number)
        return false;
    ERR_set_mark();
    if (scheme->curve) {
        signature_size = der_of(signature, scheme->number, &der);
        signature = der;
    }
    EVP_PKEY_CTX *settings;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good = context && signature && signature_size > 0 &&
        EVP_DigestVerifyInit_ex(context, &settings, scheme->hash, NULL, NULL, key, NULL) == 1 &&
        pads(settings, scheme) && EVP_DigestVerify(context, signature, signature_size, data, size) == 1;
    EVP_MD_CTX_free(context);
    OPENSSL_free(der);
    ERR_pop_to_mark();
    return is_good;
}

size_t csigning_sign(
    EVP_PKEY *key, enum csigning_scheme number, const unsigned char *data, size_t size, unsigned char *signature)
{
    const struct scheme *scheme = &schemes[number];
    unsigned char result[csigning_longest_signature];
    // ASN.1 adds up to nine bytes to two numbers, so it is converted here.
    unsigned char *made = scheme->curve ? result : signature;
    size_t length = sizeof(result);
    EVP_PKEY_CTX *settings;
    ERR_set_mark();
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_made = context && EVP_DigestSignInit_ex(context, &settings, scheme->hash, NULL, NULL, key, NULL) == 1 &&
        pads(settings, scheme) && EVP_DigestSign(context, made, &length, data, size) == 1;
    if (is_made && scheme->curve) {
        is_made = numbers_of(result, length, signature, scheme->number);
        length = 2 * scheme->number;
    }
    EVP_MD_CTX_free(context);
    ERR_pop_to_mark();
    return is_made ? length : 0;
}

// ---- HMAC (RFC 2104) and SHA-1 -----------------------------------------------------------------------------------------

EVP_MAC_CTX *csigning_hmac_make(enum csigning_hash hash, const unsigned char *key, size_t size)
{
    static const char *const names[] = {"SHA256", "SHA384", "SHA512"};
    OSSL_PARAM settings[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)names[hash], 0), OSSL_PARAM_construct_end()};
    ERR_set_mark();
    EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *hmac = EVP_MAC_CTX_new(algorithm);
    if (hmac && EVP_MAC_init(hmac, key, size, settings) != 1) {
        EVP_MAC_CTX_free(hmac);
        hmac = NULL;
    }
    EVP_MAC_free(algorithm);
    ERR_pop_to_mark();
    return hmac;
}

void csigning_hmac_free(EVP_MAC_CTX *hmac)
{
    EVP_MAC_CTX_free(hmac);
}

size_t csigning_hmac_code(const EVP_MAC_CTX *hmac, const unsigned char *data, size_t size, unsigned char *code)
{
    size_t length = 0;
    ERR_set_mark();
    EVP_MAC_CTX *copy = EVP_MAC_CTX_dup(hmac);
    if (!copy || EVP_MAC_update(copy, data, size) != 1 ||
        EVP_MAC_final(copy, code, &length, csigning_longest_code) != 1)
        length = 0;
    EVP_MAC_CTX_free(copy);
    ERR_pop_to_mark();
    return length;
}

bool csigning_hmac_verify(
    const EVP_MAC_CTX *hmac, const unsigned char *data, size_t size, const unsigned char *code, size_t code_size)
{
    unsigned char right[csigning_longest_code];
    size_t length = csigning_hmac_code(hmac, data, size, right);
    return length > 0 && length == code_size && CRYPTO_memcmp(right, code, length) == 0;
}

bool csigning_sha1(const unsigned char *data, size_t size, unsigned char *digest)
{
    return EVP_Q_digest(NULL, "SHA1", NULL, data, size, digest, NULL) == 1;
}
