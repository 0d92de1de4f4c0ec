/// libwebsockets for Swift: its header, and functions where it offers only macros.
#pragma once
#include <libwebsockets.h>
#include <sys/socket.h>
#include "tls.h"

/// Bytes that lws_write may overwrite in front of what it sends as a frame of its own making.
enum { clws_pre = LWS_PRE };

/// Accepts with SOCK_NONBLOCK and SOCK_CLOEXEC (accept4 is not imported). Returns the descriptor, or -errno.
int clws_accept(int listener, struct sockaddr_storage *peer);

/// Ends a connection at once, whatever it was doing: its CLOSED and WSI_DESTROY callbacks come inside this call.
///
/// lws_set_timeout(…, LWS_TO_KILL_SYNC) alone waits up to 5 s for bytes that were not sent yet. So the socket is shut
/// first, and a write on it lets libwebsockets notice that nothing can be flushed any more.
/// Not to be called inside a callback of the same connection.
void clws_kill(struct lws *wsi);

/// How many bytes of a TCP connection have been read so far; -1 if the peer has shut its side, or it cannot be told.
long long clws_bytes_read(struct lws *wsi);
