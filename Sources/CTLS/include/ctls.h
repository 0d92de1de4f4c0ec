/// TLS for Swift on sockets that somebody else has opened and watches: OpenSSL, for clients only.
///
/// The server's certificate and its name are always verified; there is no way to do without.
#pragma once
#include <stddef.h>

/// What sessions are made with: whom to trust, and how we make ourselves known.
struct ssl_ctx_st;
/// TLS on one socket.
struct ssl_st;

/// Trusts the authorities in a PEM file, or the system's if that is NULL. `certificate` and `key` are PEM files by which
/// we make ourselves known, or both NULL. NULL, and a sentence in `problem`, if one of them cannot be used. The result
/// never changes and may be used by several threads; given back with `ctls_context_free`.
struct ssl_ctx_st *ctls_context_make(
    const char *authorities, const char *certificate, const char *key, char *problem, size_t room);
void ctls_context_free(struct ssl_ctx_st *context);

/// TLS on a connected socket, whose certificate has to be for `name`: a host's name or an IP address. The socket stays its
/// owner's, and has to be open for as long as the session is used. NULL if there is no memory, or the name is none.
struct ssl_st *ctls_session_make(struct ssl_ctx_st *context, int fd, const char *name);
void ctls_session_free(struct ssl_st *session);

/// What became of a step. On a socket that blocks, the two that want something mean that its time-out is over.
enum ctls_outcome {
    ctls_done,
    /// Again when the socket can be read.
    ctls_wants_read,
    /// Again when it can be written.
    ctls_wants_write,
    /// The server has closed the connection.
    ctls_ended,
    /// A sentence is in `problem`; the session is of no use any more.
    ctls_failed,
};

/// Where a sentence goes, with its end.
struct ctls_problem {
    char text[256];
};

enum ctls_outcome ctls_handshake(struct ssl_st *session, struct ctls_problem *problem);
/// `count`: how many bytes were read, at most 16 KiB; with room for so many, nothing is left inside of the session.
enum ctls_outcome ctls_read(
    struct ssl_st *session, void *bytes, size_t room, size_t *count, struct ctls_problem *problem);
/// `count`: how many were taken. After `ctls_wants_…` the same bytes have to come again; others may follow them.
enum ctls_outcome ctls_write(
    struct ssl_st *session, const void *bytes, size_t size, size_t *count, struct ctls_problem *problem);
