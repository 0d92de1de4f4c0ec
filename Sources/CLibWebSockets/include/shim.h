/// libwebsockets for Swift: its header, and functions where it offers only macros.
#pragma once
#include <libwebsockets.h>
#include <stdbool.h>
#include <sys/socket.h>
#include "tls.h"

/// Bytes that lws_write may overwrite in front of what it sends as a frame of its own making.
enum { clws_pre = LWS_PRE };

/// Accepts with SOCK_NONBLOCK and SOCK_CLOEXEC (accept4 is not imported). Returns the descriptor, or -errno.
int clws_accept(int listener, struct sockaddr_storage *peer);

/// How many connections a listening socket has for `clws_accept`; 0 where the kernel does not say.
int clws_waiting(int listener);

/// Ends a connection at once, whatever it was doing: its CLOSED and WSI_DESTROY callbacks come inside this call.
///
/// lws_set_timeout(…, LWS_TO_KILL_SYNC) alone waits up to 5 s for bytes that were not sent yet. So the socket is shut
/// first, and a write on it lets libwebsockets notice that nothing can be flushed any more.
/// (A session of TLS that has said farewell, or waits to read, would take that for a reason to wait. So this is left out
/// for a connection that libwebsockets has written nothing to.)
/// Not to be called inside a callback of the same connection.
void clws_kill(struct lws *wsi, bool may_have_unsent);

/// The head that libwebsockets is shown for every upgrade: requests are read before it gets a connection, and this one
/// says nothing that came from outside. Constant.
const char *clws_upgrade_head(void);

/// Writes the 28 characters of Sec-WebSocket-Accept for a key (RFC 6455, 4.2.2), and a zero. `key` has 24 characters.
void clws_accept_key(const char *key, char accept[29]);

/// Inside LWS_CALLBACK_ADD_HEADERS, whose argument `args` is: makes libwebsockets' answer to `clws_upgrade_head` the
/// answer to the client's request, which is called `name`. `protocol` may be NULL. Not 0 if the answer is not as expected.
int clws_answer_upgrade(void *args, const char *accept, const char *protocol, const char *name);

/// Lets libwebsockets read from a connection at once. Not 0 when the connection has ended in it.
/// Not to be called inside a callback.
int clws_service(struct lws *wsi);

/// Waits with its readiness to be read until so many bytes have come, or the peer has shut its side.
void clws_wake_at(int descriptor, int bytes);

/// Whether the peer of a TCP connection has shut its side, or the connection has broken.
int clws_has_ended(int descriptor);

/// Keeps the kernel from sending packets that are not full, until it is called with `false`.
void clws_hold_back(struct lws *wsi, bool holds);

/// Gives free memory of all threads back to the system. May be called on any thread, and takes milliseconds.
void clws_return_memory(void);
