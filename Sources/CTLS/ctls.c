#include "ctls.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE when the server has disconnected.

static int fd_of(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int bio_write(BIO *bio, const char *bytes, int size)
{
    ssize_t count;
    BIO_clear_retry_flags(bio);
    do
        count = send(fd_of(bio), bytes, (size_t)size, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_write(bio);
    return (int)count;
}

static int bio_read(BIO *bio, char *bytes, int room)
{
    ssize_t count;
    BIO_clear_retry_flags(bio);
    do
        count = recv(fd_of(bio), bytes, (size_t)room, 0);
    while (count < 0 && errno == EINTR);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_read(bio);
    if (count == 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return (int)count;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)number, (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_EOF: return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    default: return 0;
    }
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

// Made once, never changed and never freed: every session's BIO points to it.
static BIO_METHOD *method;

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    if (!method)
        return;
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_control);
    BIO_meth_set_create(method, bio_create);
}

// Contexts

// Without it OpenSSL would ask for a passphrase on the terminal.
static int no_passphrase(char *buffer, int size, int writing, void *user)
{
    (void)buffer, (void)size, (void)writing, (void)user;
    return -1;
}

static void describe(char *problem, size_t room, const char *step, const char *file)
{
    unsigned long code = ERR_peek_last_error();
    // For a file that cannot be opened, the first error has the reason.
    unsigned long first = ERR_peek_error();
    if (first && ERR_SYSTEM_ERROR(first))
        code = first;
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    if (code && ERR_SYSTEM_ERROR(code))
        reason = strerror(ERR_GET_REASON(code));
    snprintf(problem, room, "%s %s: %s", step, file, reason ? reason : "unknown error");
    ERR_clear_error();
}

SSL_CTX *ctls_context_make(
    const char *authorities, const char *certificate, const char *key, char *problem, size_t room)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_method);
    ERR_clear_error();
    SSL_CTX *context = method ? SSL_CTX_new(TLS_client_method()) : NULL;
    if (!context) {
        snprintf(problem, room, "no TLS: out of memory");
        return NULL;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
    // A killed server sends no close_notify: treat that as a normal end.
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    // Bytes that wait may be moved, and may grow, before the next attempt to write them.
    SSL_CTX_set_mode(
        context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (authorities ? SSL_CTX_load_verify_file(context, authorities) != 1
                    : SSL_CTX_set_default_verify_paths(context) != 1)
        describe(problem, room, "no authorities can be read from", authorities ? authorities : "the system");
    else if (certificate && SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
        describe(problem, room, "no certificate can be read from", certificate);
    else if (key && SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        describe(problem, room, "no key for this certificate can be read from", key);
    else if (key && SSL_CTX_check_private_key(context) != 1)
        describe(problem, room, "the certificate does not belong to the key in", key);
    else
        return context;
    SSL_CTX_free(context);
    return NULL;
}

void ctls_context_free(SSL_CTX *context)
{
    SSL_CTX_free(context);
}

// Sessions

SSL *ctls_session_make(SSL_CTX *context, int fd, const char *name)
{
    ERR_clear_error();
    SSL *session = SSL_new(context);
    BIO *bio = session ? BIO_new(method) : NULL;
    if (!bio) {
        SSL_free(session);
        return NULL;
    }
    BIO_set_data(bio, (void *)(intptr_t)fd);
    // From here on the session owns it.
    SSL_set_bio(session, bio, bio);
    SSL_set_connect_state(session);
    X509_VERIFY_PARAM *demands = SSL_get0_param(session);
    if (X509_VERIFY_PARAM_set1_ip_asc(demands, name) != 1) {
        ERR_clear_error();
        X509_VERIFY_PARAM_set_hostflags(demands, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        if (!*name || X509_VERIFY_PARAM_set1_host(demands, name, 0) != 1
            || SSL_set_tlsext_host_name(session, name) != 1) {
            SSL_free(session);
            return NULL;
        }
    }
    return session;
}

void ctls_session_free(SSL *session)
{
    SSL_free(session);
}

static void tell(struct ctls_problem *problem, const char *text, const char *reason)
{
    snprintf(problem->text, sizeof(problem->text), reason ? "%s: %s" : "%s", text, reason);
}

static void explain_certificate(long verdict, struct ctls_problem *problem)
{
    const char *reason = X509_verify_cert_error_string(verdict);
    switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: tell(problem, "the server's certificate is for another name", NULL); break;
    case X509_V_ERR_CERT_HAS_EXPIRED: tell(problem, "the server's certificate has expired", NULL); break;
    case X509_V_ERR_CERT_NOT_YET_VALID: tell(problem, "the server's certificate is not valid yet", NULL); break;
    default: tell(problem, "the server's certificate is not trusted", reason);
    }
}

static void explain_alert(unsigned long code, struct ctls_problem *problem)
{
    const char *reason = ERR_reason_error_string(code);
    switch (ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_UNKNOWN_PROTOCOL: tell(problem, "the server does not use TLS on this port", NULL); break;
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: tell(problem, "the server requires a client certificate", NULL); break;
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA: tell(problem, "the server rejects the client certificate", reason); break;
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL: tell(problem, "the server supports neither TLS 1.2 nor 1.3", NULL); break;
    default: tell(problem, "TLS failed", reason ? reason : "unknown error");
    }
}

static enum ctls_outcome judge(SSL *session, int result, int error_number, struct ctls_problem *problem)
{
    int error = SSL_get_error(session, result);
    unsigned long code = ERR_peek_error();
    long verdict = SSL_get_verify_result(session);
    ERR_clear_error();
    switch (error) {
    case SSL_ERROR_NONE: return ctls_done;
    case SSL_ERROR_WANT_READ: return ctls_wants_read;
    case SSL_ERROR_WANT_WRITE: return ctls_wants_write;
    case SSL_ERROR_ZERO_RETURN: return ctls_ended;
    case SSL_ERROR_SYSCALL:
        if (!error_number)
            return ctls_ended;
        tell(problem, strerror(error_number), NULL);
        return ctls_failed;
    }
    if (verdict != X509_V_OK)
        explain_certificate(verdict, problem);
    else
        explain_alert(code, problem);
    return ctls_failed;
}

enum ctls_outcome ctls_handshake(SSL *session, struct ctls_problem *problem)
{
    ERR_clear_error();
    errno = 0;
    int result = SSL_do_handshake(session);
    return judge(session, result, errno, problem);
}

enum ctls_outcome ctls_read(SSL *session, void *bytes, size_t room, size_t *count, struct ctls_problem *problem)
{
    ERR_clear_error();
    errno = 0;
    *count = 0;
    int result = SSL_read_ex(session, bytes, room, count);
    return judge(session, result, errno, problem);
}

enum ctls_outcome ctls_write(
    SSL *session, const void *bytes, size_t size, size_t *count, struct ctls_problem *problem)
{
    ERR_clear_error();
    errno = 0;
    *count = 0;
    int result = SSL_write_ex(session, bytes, size, count);
    return judge(session, result, errno, problem);
}
