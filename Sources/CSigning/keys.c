// Reads keys, and refuses wrong and weak ones.
#include "scheme.h"
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <string.h>

const struct scheme schemes[] = {
    [csigning_rs256] = {.family = "RSA", .hash = "SHA256", .padding = RSA_PKCS1_PADDING},
    [csigning_rs384] = {.family = "RSA", .hash = "SHA384", .padding = RSA_PKCS1_PADDING},
    [csigning_rs512] = {.family = "RSA", .hash = "SHA512", .padding = RSA_PKCS1_PADDING},
    [csigning_ps256] = {.family = "RSA", .hash = "SHA256", .padding = RSA_PKCS1_PSS_PADDING},
    [csigning_es256] = {.family = "EC", .hash = "SHA256", .curve = "prime256v1", .number = 32},
    [csigning_es384] = {.family = "EC", .hash = "SHA384", .curve = "secp384r1", .number = 48},
    [csigning_eddsa] = {.family = "ED25519"},
};

// In bits. Keys beyond the longest take seconds to check.
enum { shortest_rsa = 2048, longest_rsa = 8192, longest_exponent = 64 };

static bool is_good_rsa(EVP_PKEY *key)
{
    BIGNUM *exponent = NULL;
    int bits = EVP_PKEY_get_bits(key);
    bool is_good = bits >= shortest_rsa && bits <= longest_rsa &&
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent) && BN_num_bits(exponent) <= longest_exponent;
    BN_free(exponent);
    return is_good;
}

static bool is_on_curve(EVP_PKEY *key, const char *curve)
{
    char name[32];
    // A curve with explicit parameters has a name only if they are all those of a known curve.
    return EVP_PKEY_get_group_name(key, name, sizeof(name), NULL) == 1 && strcmp(name, curve) == 0;
}

// OpenSSL refuses an exponent of 1, a modulus that is even or prime, and a point beside the curve. The curves have a prime
// number of points, so each point of theirs is good: the long check would multiply it by that number.
static bool is_good_public_half(EVP_PKEY *key, bool has_curve)
{
    EVP_PKEY_CTX *check = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    bool is_good = check && (has_curve ? EVP_PKEY_public_check_quick(check) : EVP_PKEY_public_check(check)) == 1;
    EVP_PKEY_CTX_free(check);
    return is_good;
}

// Takes the key over: returns it if it suits the scheme, else frees it.
static EVP_PKEY *checked(EVP_PKEY *key, enum csigning_scheme number)
{
    const struct scheme *scheme = &schemes[number];
    if (!key)
        return NULL;
    if (EVP_PKEY_is_a(key, scheme->family) && (strcmp(scheme->family, "RSA") != 0 || is_good_rsa(key)) &&
        (!scheme->curve || is_on_curve(key, scheme->curve)) &&
        is_good_public_half(key, scheme->curve))
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

// Takes the key over. With a mismatched public half, all signatures would fail verification.
static EVP_PKEY *tried(EVP_PKEY *key, enum csigning_scheme scheme)
{
    static const unsigned char text[] = "both halves of one key";
    unsigned char signature[csigning_longest_signature];
    size_t size = key ? csigning_sign(key, scheme, text, sizeof(text), signature) : 0;
    if (size > 0 && csigning_verify(key, scheme, text, sizeof(text), signature, size))
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

// ---- PEM ---------------------------------------------------------------------------------------------------------------

static EVP_PKEY *public_key_of(const char *label, const unsigned char **der, long size)
{
    if (strcmp(label, PEM_STRING_PUBLIC) == 0)
        return d2i_PUBKEY(NULL, der, size);
    if (strcmp(label, PEM_STRING_RSA_PUBLIC) == 0)
        return d2i_PublicKey(EVP_PKEY_RSA, NULL, der, size);
    if (strcmp(label, PEM_STRING_X509) != 0)
        return NULL;
    X509 *certificate = d2i_X509(NULL, der, size);
    EVP_PKEY *key = certificate ? X509_get_pubkey(certificate) : NULL;
    X509_free(certificate);
    return key;
}

static EVP_PKEY *private_key_of(const char *label, const unsigned char **der, long size)
{
    if (strcmp(label, PEM_STRING_PKCS8INF) == 0)
        return d2i_AutoPrivateKey(NULL, der, size);
    if (strcmp(label, PEM_STRING_RSA) == 0)
        return d2i_PrivateKey(EVP_PKEY_RSA, NULL, der, size);
    if (strcmp(label, PEM_STRING_ECPRIVATEKEY) == 0)
        return d2i_PrivateKey(EVP_PKEY_EC, NULL, der, size);
    return NULL;
}

// Reads the only key of a text. It rejects encrypted keys, and several keys, since choosing one would be a guess.
static EVP_PKEY *key_in(const char *pem, size_t size, bool is_private)
{
    char *label, *header;
    unsigned char *der;
    long length;
    EVP_PKEY *key = NULL;
    bool is_good = true;
    BIO *text = size <= INT_MAX ? BIO_new_mem_buf(pem, (int)size) : NULL;
    while (text && is_good && PEM_read_bio(text, &label, &header, &der, &length)) {
        const unsigned char *end = der;
        // `openssl ecparam -genkey` writes the curve before the key, which names it too.
        if (!is_private || strcmp(label, PEM_STRING_ECPARAMETERS) != 0) {
            is_good = !key && !*header;
            if (is_good)
                key = is_private ? private_key_of(label, &end, length) : public_key_of(label, &end, length);
            is_good = is_good && key && end == der + length;
        }
        OPENSSL_free(label);
        OPENSSL_free(header);
        OPENSSL_clear_free(der, (size_t)length);
    }
    // The loop ended at the end of the text, and not at a damaged block.
    is_good = is_good && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    BIO_free(text);
    if (is_good)
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

EVP_PKEY *csigning_public_key(enum csigning_scheme scheme, const char *pem, size_t size)
{
    ERR_set_mark();
    EVP_PKEY *key = checked(key_in(pem, size, false), scheme);
    ERR_pop_to_mark();
    return key;
}

EVP_PKEY *csigning_private_key(enum csigning_scheme scheme, const char *pem, size_t size)
{
    ERR_set_mark();
    EVP_PKEY *key = tried(checked(key_in(pem, size, true), scheme), scheme);
    ERR_pop_to_mark();
    return key;
}

void csigning_key_free(EVP_PKEY *key)
{
    EVP_PKEY_free(key);
}

// ---- Numbers -----------------------------------------------------------------------------------------------------------

// Frees the parameters' builder.
static EVP_PKEY *built(const char *family, OSSL_PARAM_BLD *builder, bool is_complete)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters = is_complete ? OSSL_PARAM_BLD_to_param(builder) : NULL;
    EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_from_name(NULL, family, NULL);
    if (parameters && maker && EVP_PKEY_fromdata_init(maker) == 1)
        EVP_PKEY_fromdata(maker, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    EVP_PKEY_CTX_free(maker);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

static EVP_PKEY *rsa_key(
    const unsigned char *modulus, size_t modulus_size, const unsigned char *exponent, size_t exponent_size)
{
    if (modulus_size > longest_rsa / 8 || exponent_size > longest_exponent / 8)
        return NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    BIGNUM *n = BN_bin2bn(modulus, (int)modulus_size, NULL), *e = BN_bin2bn(exponent, (int)exponent_size, NULL);
    EVP_PKEY *key = built(
        "RSA", builder,
        builder && n && e && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) &&
            OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e));
    BN_free(n);
    BN_free(e);
    return key;
}

static EVP_PKEY *ec_key(const struct scheme *scheme, const unsigned char *x, const unsigned char *y)
{
    // 4: both numbers follow (SEC 1, section 2.3.3).
    unsigned char point[1 + 2 * longest_number] = {4};
    memcpy(point + 1, x, scheme->number);
    memcpy(point + 1 + scheme->number, y, scheme->number);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    return built(
        "EC", builder,
        builder && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, scheme->curve, 0) &&
            OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * scheme->number));
}

EVP_PKEY *csigning_key_of_numbers(
    enum csigning_scheme number, const unsigned char *first, size_t first_size, const unsigned char *second,
    size_t second_size)
{
    const struct scheme *scheme = &schemes[number];
    EVP_PKEY *key = NULL;
    ERR_set_mark();
    if (number == csigning_eddsa) {
        if (first_size == 32 && second_size == 0)
            key = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, first, first_size);
    } else if (scheme->curve) {
        if (first_size == scheme->number && second_size == scheme->number)
            key = ec_key(scheme, first, second);
    } else {
        key = rsa_key(first, first_size, second, second_size);
    }
    key = checked(key, number);
    ERR_pop_to_mark();
    return key;
}
