#define _GNU_SOURCE
#include "shim.h"
#include <errno.h>

int clws_accept(int listener, struct sockaddr_storage *peer)
{
    socklen_t length = sizeof(*peer);
    int descriptor = accept4(listener, (struct sockaddr *)peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return descriptor >= 0 ? descriptor : -errno;
}

void clws_kill(struct lws *wsi)
{
    int descriptor = lws_get_socket_fd(wsi);
    if (descriptor >= 0) {
        unsigned char byte = 0;
        shutdown(descriptor, SHUT_RDWR);
        lws_write(wsi, &byte, 1, LWS_WRITE_HTTP);
    }
    lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}
