#include "tls.h"
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

// Without it OpenSSL would ask for a passphrase on the terminal.
static int no_passphrase(char *buffer, int size, int writing, void *user)
{
    (void)buffer, (void)size, (void)writing, (void)user;
    return -1;
}

static int choose_protocol(
    SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *in, unsigned in_length, void *user)
{
    (void)ssl, (void)user;
    static const unsigned char http1[] = "\x08http/1.1";
    unsigned char *chosen = NULL;
    if (SSL_select_next_proto(&chosen, length, http1, sizeof(http1) - 1, in, in_length) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

// ---- Tickets: sessions that clients keep for themselves, encrypted by keys that belong to the certificate --------------

// Lifetime of a ticket, in seconds. Its key encrypts for this long, and decrypts for as long again.
enum { ticket_life = 7200 };

struct ticket_key {
    unsigned char name[16], cipher[32], mac[32];
    // In the time of `seconds`; 0 for no key.
    long long made;
};

// A clock that cannot be set, and that keeps running while the machine sleeps; never 0.
static long long seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (long long)now.tv_sec + 1;
}

// Shared by all shards, like the identity that owns it. `lock` guards the keys; a handshake locks it for microseconds.
struct tickets {
    pthread_mutex_t lock;
    struct ticket_key current, previous;
};

static void free_tickets(void *parent, void *tickets, CRYPTO_EX_DATA *data, int index, long arg, void *pointer)
{
    (void)parent, (void)data, (void)index, (void)arg, (void)pointer;
    if (!tickets)
        return;
    pthread_mutex_destroy(&((struct tickets *)tickets)->lock);
    OPENSSL_cleanse(tickets, sizeof(struct tickets));
    free(tickets);
}

static int tickets_index;
static pthread_once_t tickets_once = PTHREAD_ONCE_INIT;

static void register_tickets(void)
{
    tickets_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_tickets);
}

static int make_key(struct ticket_key *key, long long now)
{
    key->made = now;
    return RAND_bytes(key->name, sizeof(key->name)) == 1 && RAND_bytes(key->cipher, sizeof(key->cipher)) == 1
        && RAND_bytes(key->mac, sizeof(key->mac)) == 1;
}

// Gives an identity keys for tickets. Without them its sessions are not resumed.
static void add_tickets(SSL_CTX *identity)
{
    pthread_once(&tickets_once, register_tickets);
    struct tickets *tickets = calloc(1, sizeof(*tickets));
    if (!tickets)
        return;
    pthread_mutex_init(&tickets->lock, NULL);
    if (tickets_index < 0 || !make_key(&tickets->current, seconds())
        || SSL_CTX_set_ex_data(identity, tickets_index, tickets) != 1)
        free_tickets(NULL, tickets, NULL, 0, 0, NULL);
}

// Finds the key for encrypting, or the one that a ticket names. Returns 1 if it exists, 2 if the client should also get
// a newer ticket.
static int find_key(struct tickets *tickets, const unsigned char *name, struct ticket_key *key)
{
    long long now = seconds();
    int found = 0;
    pthread_mutex_lock(&tickets->lock);
    if (now - tickets->current.made >= ticket_life) {
        struct ticket_key next;
        if (make_key(&next, now)) {
            tickets->previous = tickets->current;
            tickets->current = next;
        }
        OPENSSL_cleanse(&next, sizeof(next));
    }
    if (!name || memcmp(name, tickets->current.name, sizeof(key->name)) == 0) {
        *key = tickets->current;
        found = 1;
    } else if (tickets->previous.made && now - tickets->previous.made < 2 * ticket_life
        && memcmp(name, tickets->previous.name, sizeof(key->name)) == 0) {
        *key = tickets->previous;
        found = 2;
    }
    pthread_mutex_unlock(&tickets->lock);
    return found;
}

// OpenSSL's callback (SSL_CTX_set_tlsext_ticket_key_evp_cb(3)). At this point the connection has the identity's
// context.
static int ticket_key(
    SSL *ssl, unsigned char name[16], unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int encrypting)
{
    struct tickets *tickets = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), tickets_index);
    struct ticket_key key;
    int found = tickets ? find_key(tickets, encrypting ? NULL : name, &key) : 0;
    if (!found)
        return 0;
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac, sizeof(key.mac)),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    bool failed = EVP_MAC_CTX_set_params(mac, parameters) != 1;
    if (encrypting) {
        memcpy(name, key.name, sizeof(key.name));
        failed = failed || RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1
            || EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key.cipher, iv) != 1;
    } else {
        failed = failed || EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key.cipher, iv) != 1;
    }
    OPENSSL_cleanse(&key, sizeof(key));
    return failed ? -1 : found;
}

static void describe(char *problem, size_t room, const char *step, const char *file)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    if (code && ERR_SYSTEM_ERROR(code))
        reason = strerror(ERR_GET_REASON(code));
    snprintf(problem, room, "%s %s: %s", step, file, reason ? reason : "unknown error");
    ERR_clear_error();
}

SSL_CTX *clws_identity_load(const char *certificate, const char *key, char *problem, size_t room)
{
    ERR_clear_error();
    SSL_CTX *identity = SSL_CTX_new(TLS_server_method());
    if (!identity) {
        describe(problem, room, "cannot use", certificate);
        return NULL;
    }
    SSL_CTX_set_default_passwd_cb(identity, no_passphrase);
    SSL_CTX_set_alpn_select_cb(identity, choose_protocol, NULL);
    if (SSL_CTX_use_certificate_chain_file(identity, certificate) != 1)
        describe(problem, room, "no certificate can be read from", certificate);
    else if (SSL_CTX_use_PrivateKey_file(identity, key, SSL_FILETYPE_PEM) != 1)
        describe(problem, room, "no key for this certificate can be read from", key);
    else if (SSL_CTX_check_private_key(identity) != 1)
        describe(problem, room, "the certificate does not belong to the key in", key);
    else {
        add_tickets(identity);
        return identity;
    }
    SSL_CTX_free(identity);
    return NULL;
}

void clws_tls_free(SSL_CTX *context)
{
    SSL_CTX_free(context);
}

long long clws_identity_expiry(SSL_CTX *identity)
{
    struct tm end;
    memset(&end, 0, sizeof(end));
    X509 *certificate = SSL_CTX_get0_certificate(identity);
    if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1)
        return 0;
    return (long long)timegm(&end);
}

static int identify(SSL *ssl, int *alert, void *current)
{
    SSL_CTX *identity = *(SSL_CTX **)current;
    // The connection retains the identity and keeps it when a newer one replaces it.
    if (identity && SSL_set_SSL_CTX(ssl, identity))
        return SSL_CLIENT_HELLO_SUCCESS;
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_CLIENT_HELLO_ERROR;
}

void clws_tls_prepare(SSL_CTX *host, SSL_CTX **current)
{
    SSL_CTX_set_min_proto_version(host, TLS1_2_VERSION);
    // For TLS 1.2 only authenticated ciphers with forward secrecy; TLS 1.3 has no others.
    SSL_CTX_set_cipher_list(host, "ECDHE+AESGCM:ECDHE+CHACHA20");
    // Tickets are the only way to resume sessions: the server stores none, and all shards can read them. Their keys
    // belong to the identity, so after a new certificate every handshake is a full one.
    SSL_CTX_set_session_cache_mode(host, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(host, 1);
    SSL_CTX_set_timeout(host, ticket_life);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(host, ticket_key);
    SSL_CTX_set_options(host, SSL_OP_NO_RENEGOTIATION);
    // libwebsockets' callback would replace our certificate with its own, which does not exist.
    SSL_CTX_set_tlsext_servername_callback(host, NULL);
    SSL_CTX_set_client_hello_cb(host, identify, current);
}

SSL_CTX *clws_dialling_make(const char *authorities, bool trusts)
{
    ERR_clear_error();
    SSL_CTX *dialling = SSL_CTX_new(TLS_client_method());
    if (!dialling)
        return NULL;
    SSL_CTX_set_min_proto_version(dialling, TLS1_2_VERSION);
    SSL_CTX_set_options(dialling, SSL_OP_NO_COMPRESSION);
    // The same mode as libwebsockets': it retries a write from another address.
    SSL_CTX_set_mode(dialling, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    bool failed = false;
    if (trusts)
        failed = authorities ? SSL_CTX_load_verify_locations(dialling, authorities, NULL) != 1
                             : SSL_CTX_set_default_verify_paths(dialling) != 1;
    ERR_clear_error();
    if (!failed)
        return dialling;
    SSL_CTX_free(dialling);
    return NULL;
}

static int result(SSL *ssl, int count)
{
    if (count > 0)
        return count;
    int error = SSL_get_error(ssl, count);
    ERR_clear_error();
    switch (error) {
    case SSL_ERROR_WANT_READ:
        return clws_tls_wants_read;
    case SSL_ERROR_WANT_WRITE:
        return clws_tls_wants_write;
    default:
        return clws_tls_ended;
    }
}

int clws_tls_handshake(struct lws *wsi)
{
    SSL *ssl = lws_get_ssl(wsi);
    ERR_clear_error();
    return ssl ? result(ssl, SSL_do_handshake(ssl)) : clws_tls_ended;
}

int clws_tls_peek(struct lws *wsi, void *bytes, int room)
{
    SSL *ssl = lws_get_ssl(wsi);
    ERR_clear_error();
    return ssl ? result(ssl, SSL_peek(ssl, bytes, room)) : clws_tls_ended;
}

int clws_tls_read(struct lws *wsi, void *bytes, int room)
{
    SSL *ssl = lws_get_ssl(wsi);
    ERR_clear_error();
    return ssl ? result(ssl, SSL_read(ssl, bytes, room)) : clws_tls_ended;
}

int clws_tls_write(struct lws *wsi, const void *bytes, int count)
{
    SSL *ssl = lws_get_ssl(wsi);
    ERR_clear_error();
    return ssl ? result(ssl, SSL_write(ssl, bytes, count)) : clws_tls_ended;
}

void clws_tls_bid_farewell(struct lws *wsi)
{
    SSL *ssl = lws_get_ssl(wsi);
    ERR_clear_error();
    if (ssl && SSL_is_init_finished(ssl))
        SSL_shutdown(ssl);
    ERR_clear_error();
}
