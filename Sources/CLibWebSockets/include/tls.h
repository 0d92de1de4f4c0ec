/// TLS for Swift, by OpenSSL, which Debian's libwebsockets is built with: certificates that can be replaced while
/// connections are open, and a peek at the bytes that a connection has decrypted.
#pragma once
#include <libwebsockets.h>
#include <stdbool.h>

/// Reads a certificate chain and its private key, both PEM. Returns NULL, and a sentence in `problem`, if they cannot
/// be used. The result is immutable and may be used by several threads. Free it with `clws_tls_free`.
SSL_CTX *clws_identity_load(const char *certificate, const char *key, char *problem, size_t room);

/// Frees a result of these functions. Connections have references of their own.
void clws_tls_free(SSL_CTX *context);

/// The time at which the certificate expires, in seconds since 1970.
long long clws_identity_expiry(SSL_CTX *identity);

/// Prepares the context of a virtual host: TLS 1.2 and 1.3 only, resumption by tickets whose keys belong to the
/// identity. Each new connection uses the identity that `*current` points to at that moment. The caller owns `current`
/// and keeps it until the virtual host is destroyed.
void clws_tls_prepare(SSL_CTX *host, SSL_CTX **current);

/// The TLS context of clients, for TLS 1.2 and 1.3. With `trusts` it trusts the authorities in a PEM file, or the
/// system's if that is NULL; without, none. Returns NULL if the file has no authorities. Free it with `clws_tls_free`.
SSL_CTX *clws_dialling_make(const char *authorities, bool trusts);

/// Results of the next four functions if they did nothing: the connection is over, or must first be readable or
/// writable.
enum { clws_tls_ended = 0, clws_tls_wants_read = -1, clws_tls_wants_write = -2 };

/// Continues the handshake: 1 when it is done, or one of the above.
int clws_tls_handshake(struct lws *wsi);

/// Copies the bytes of the connection's next read without consuming them. Returns their number, or one of the above.
int clws_tls_peek(struct lws *wsi, void *bytes, int room);

/// Reads. Returns the number of bytes, or one of the above.
int clws_tls_read(struct lws *wsi, void *bytes, int room);

/// Writes all of at most 16 KiB and returns their number, or writes nothing and returns one of the above; the caller
/// must then offer the same bytes again.
int clws_tls_write(struct lws *wsi, const void *bytes, int count);

/// Sends the peer a close_notify: nothing more will be written.
void clws_tls_bid_farewell(struct lws *wsi);
