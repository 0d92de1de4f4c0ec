/// libwebsockets for Swift: its header, and functions where it offers only macros.
#pragma once
#include <libwebsockets.h>
#include <stdbool.h>
#include <sys/socket.h>
#include "tls.h"

/// Bytes in front of a payload that lws_write may overwrite with the frame's header.
enum { clws_pre = LWS_PRE };

/// Accepts with SOCK_NONBLOCK and SOCK_CLOEXEC (accept4 is not imported). Returns the descriptor, or -errno.
int clws_accept(int listener, struct sockaddr_storage *peer);

/// The number of connections that wait in a listening socket for `clws_accept`; 0 if the kernel does not know.
int clws_waiting(int listener);

/// Ends a connection immediately, in any state. Its CLOSED and WSI_DESTROY callbacks run inside this call.
///
/// lws_set_timeout(…, LWS_TO_KILL_SYNC) alone waits up to 5 s for unsent bytes. So this function first shuts the socket
/// down, and a write on it makes libwebsockets notice that nothing can be flushed. (A TLS session that has sent its
/// close_notify, or waits to read, would wait after such a write. So the write is left out for a connection on which
/// libwebsockets has written nothing.)
/// Must not be called inside a callback of the same connection.
void clws_kill(struct lws *wsi, bool may_have_unsent);

/// The constant request head that libwebsockets gets for every upgrade. The server reads the real request before
/// libwebsockets gets the connection; this head contains nothing from the client.
const char *clws_upgrade_head(void);

/// Writes the 28 characters of Sec-WebSocket-Accept for a key (RFC 6455, 4.2.2), and a zero. `key` has 24 characters.
void clws_accept_key(const char *key, char accept[29]);

/// Inside LWS_CALLBACK_ADD_HEADERS, with its argument `args`: turns libwebsockets' answer to `clws_upgrade_head` into
/// the answer to the client's request. `name` is the request's name (X-Request-Id). `protocol` may be NULL. Returns
/// non-zero if the answer is not as expected.
int clws_answer_upgrade(void *args, const char *accept, const char *protocol, const char *name);

/// Makes libwebsockets read from a connection immediately. Returns non-zero if the connection ended in the call. Must
/// not be called inside a callback.
int clws_service(struct lws *wsi);

/// Delays readiness for reading until `bytes` bytes have arrived, or the peer has shut down its side.
void clws_wake_at(int descriptor, int bytes);

/// Whether the peer of a TCP connection has shut down its side, or the connection has broken.
int clws_has_ended(int descriptor);

/// With `true`, stops the kernel from sending partial packets, until a call with `false`.
void clws_hold_back(struct lws *wsi, bool holds);

/// Returns free memory of all threads to the system. May be called on any thread, and takes milliseconds.
void clws_return_memory(void);
