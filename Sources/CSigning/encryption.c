// Encryption for the holder of a key: key agreement, key derivation, and AES-GCM.
#include "scheme.h"
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <string.h>

enum { number = 32, nonce_size = 12, tag_size = 16 };

EVP_PKEY *csigning_new_key(void)
{
    ERR_set_mark();
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", schemes[csigning_es256].curve);
    ERR_pop_to_mark();
    return key;
}

size_t csigning_private_pem(EVP_PKEY *key, char *pem, size_t room)
{
    char *made;
    long size = 0;
    ERR_set_mark();
    // Its memory is cleared before it is freed.
    BIO *text = BIO_new(BIO_s_secmem());
    if (text && PEM_write_bio_PKCS8PrivateKey(text, key, NULL, NULL, 0, NULL, NULL) == 1)
        size = BIO_get_mem_data(text, &made);
    bool fits = size > 0 && (size_t)size <= room;
    if (fits)
        memcpy(pem, made, (size_t)size);
    BIO_free(text);
    ERR_pop_to_mark();
    return fits ? (size_t)size : 0;
}

bool csigning_point(EVP_PKEY *key, unsigned char *point)
{
    BIGNUM *x = NULL, *y = NULL;
    ERR_set_mark();
    // From the numbers: the key itself may have been read from a compressed point.
    bool is_there = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_X, &x) == 1 &&
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_Y, &y) == 1 && BN_bn2binpad(x, point + 1, number) == number &&
        BN_bn2binpad(y, point + 1 + number, number) == number;
    // 4: both numbers follow (SEC 1, section 2.3.3).
    point[0] = 4;
    BN_free(x);
    BN_free(y);
    ERR_pop_to_mark();
    return is_there;
}

bool csigning_agree(EVP_PKEY *key, EVP_PKEY *peer, unsigned char *secret)
{
    size_t size = number;
    ERR_set_mark();
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    // 0: the peer's point was checked when its key was made.
    bool is_agreed = context && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer_ex(context, peer, 0) == 1 &&
        EVP_PKEY_derive(context, secret, &size) == 1 && size == number;
    EVP_PKEY_CTX_free(context);
    ERR_pop_to_mark();
    return is_agreed;
}

bool csigning_hkdf(
    const unsigned char *salt, size_t salt_size, const unsigned char *secret, size_t secret_size,
    const unsigned char *info, size_t info_size, unsigned char *key, size_t size)
{
    // OpenSSL does not write to them.
    OSSL_PARAM settings[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_size),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret, secret_size),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_size),
        OSSL_PARAM_construct_end(),
    };
    ERR_set_mark();
    EVP_KDF *algorithm = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(algorithm);
    bool is_made = context && EVP_KDF_derive(context, key, size, settings) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(algorithm);
    ERR_pop_to_mark();
    return is_made;
}

bool csigning_seal(
    const unsigned char *key, const unsigned char *nonce, const unsigned char *data, size_t size, unsigned char *sealed)
{
    int length = 0, rest = 0;
    ERR_set_mark();
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    // The nonce of GCM has 12 bytes unless another length is set.
    bool is_sealed = size <= csigning_longest_message && cipher && context &&
        EVP_EncryptInit_ex2(context, cipher, key, nonce, NULL) == 1 &&
        EVP_CIPHER_CTX_get_iv_length(context) == nonce_size &&
        EVP_EncryptUpdate(context, sealed, &length, data, (int)size) == 1 &&
        EVP_EncryptFinal_ex(context, sealed + length, &rest) == 1 && (size_t)(length + rest) == size &&
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tag_size, sealed + size) == 1;
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    ERR_pop_to_mark();
    return is_sealed;
}
