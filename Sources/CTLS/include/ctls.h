/// TLS for Swift on sockets that the caller opens and watches: OpenSSL, for clients only.
///
/// The server's certificate and name are always verified.
#pragma once
#include <stddef.h>

/// The settings of sessions: trusted authorities, and the client's certificate.
struct ssl_ctx_st;
/// TLS on one socket.
struct ssl_st;

/// Trusts the authorities in a PEM file, or the system's if that is NULL. `certificate` and `key` are the client's PEM
/// files, or both NULL. Returns NULL, and a sentence in `problem`, if one of them cannot be used. The result is
/// immutable and may be used by several threads. Free it with `ctls_context_free`.
struct ssl_ctx_st *ctls_context_make(
    const char *authorities, const char *certificate, const char *key, char *problem, size_t room);
void ctls_context_free(struct ssl_ctx_st *context);

/// TLS on a connected socket. The server's certificate must be for `name`: a host name or an IP address. The caller
/// still owns the socket, and keeps it open while the session is used. Returns NULL without memory, or if `name` is
/// invalid.
struct ssl_st *ctls_session_make(struct ssl_ctx_st *context, int fd, const char *name);
void ctls_session_free(struct ssl_st *session);

/// The outcome of a step. On a blocking socket, `wants_read` and `wants_write` mean that its time-out has expired.
enum ctls_outcome {
    ctls_done,
    /// Repeat the call when the socket can be read.
    ctls_wants_read,
    /// Repeat the call when the socket can be written.
    ctls_wants_write,
    /// The server has closed the connection.
    ctls_ended,
    /// `problem` has a sentence; the session cannot be used any more.
    ctls_failed,
};

/// Buffer for a sentence and its final zero.
struct ctls_problem {
    char text[256];
};

enum ctls_outcome ctls_handshake(struct ssl_st *session, struct ctls_problem *problem);
/// `count`: the number of bytes read, at most 16 KiB. With room for 16 KiB, none are left inside the session.
enum ctls_outcome ctls_read(
    struct ssl_st *session, void *bytes, size_t room, size_t *count, struct ctls_problem *problem);
/// `count`: the number of bytes written. After `ctls_wants_…` the next call must begin with the same bytes; others may
/// follow them.
enum ctls_outcome ctls_write(
    struct ssl_st *session, const void *bytes, size_t size, size_t *count, struct ctls_problem *problem);
