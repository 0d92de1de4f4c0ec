/// TLS for Swift: certificates that can be exchanged while connections are open, and a look at what a connection has
/// decrypted. OpenSSL, which Debian's libwebsockets is built with.
#pragma once
#include <libwebsockets.h>
#include <stdbool.h>

/// Reads a certificate chain and its private key, both PEM. NULL, and a sentence in `problem`, if they cannot be used.
/// The result is immutable, may be used by several threads, and is given back with `clws_tls_free`.
SSL_CTX *clws_identity_load(const char *certificate, const char *key, char *problem, size_t room);

/// Gives back what one of these functions has made. Connections hold references of their own.
void clws_tls_free(SSL_CTX *context);

/// When its certificate ends, in seconds since 1970.
long long clws_identity_expiry(SSL_CTX *identity);

/// Prepares the context of a virtual host: TLS 1.2 and 1.3 only, resumption by tickets whose keys are the identity's, and
/// for each new connection the identity that `*current` is at that moment. `current` is the caller's, and outlives the virtual host.
void clws_tls_prepare(SSL_CTX *host, SSL_CTX **current);

/// What clients begin TLS 1.2 and 1.3 with. It trusts the authorities in a PEM file, or the system's if that is NULL, or
/// nobody. NULL if there is nothing to read there. Given back with `clws_tls_free`.
SSL_CTX *clws_dialling_make(const char *authorities, bool trusts);

/// What the next four answer when they did nothing: the connection is over, or waits until it can be read or written.
enum { clws_tls_ended = 0, clws_tls_wants_read = -1, clws_tls_wants_write = -2 };

/// Goes on with the handshake: 1 when it is done, or one of the above.
int clws_tls_handshake(struct lws *wsi);

/// Copies what the connection's next read would give, and leaves it there: how many bytes, or one of the above.
int clws_tls_peek(struct lws *wsi, void *bytes, int room);

/// Reads; how many bytes, or one of the above.
int clws_tls_read(struct lws *wsi, void *bytes, int room);

/// Writes all of at most 16 KiB, and answers with their number, or nothing and answers with one of the above; then the
/// same bytes must be offered again.
int clws_tls_write(struct lws *wsi, const void *bytes, int count);

/// Tells the peer that nothing more will be written.
void clws_tls_bid_farewell(struct lws *wsi);
