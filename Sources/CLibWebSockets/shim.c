#define _GNU_SOURCE
#include "shim.h"
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

int clws_accept(int listener, struct sockaddr_storage *peer)
{
    socklen_t length = sizeof(*peer);
    int descriptor = accept4(listener, (struct sockaddr *)peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return descriptor >= 0 ? descriptor : -errno;
}

void clws_kill(struct lws *wsi)
{
    int descriptor = lws_get_socket_fd(wsi);
    SSL *ssl = lws_get_ssl(wsi);
    // The peer's farewell, for which libwebsockets would wait, cannot come any more.
    if (ssl)
        SSL_set_quiet_shutdown(ssl, 1);
    if (descriptor >= 0) {
        unsigned char byte = 0;
        shutdown(descriptor, SHUT_RDWR);
        // In a handshake OpenSSL would read instead, and libwebsockets would take that for a reason to wait.
        if (!ssl || SSL_is_init_finished(ssl))
            lws_write(wsi, &byte, 1, LWS_WRITE_HTTP);
    }
    lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}

long long clws_bytes_read(struct lws *wsi)
{
    int descriptor = lws_get_socket_fd(wsi), waiting = 0;
    struct tcp_info info;
    socklen_t length = sizeof(info);
    memset(&info, 0, sizeof(info));
    // A FIN counts as a byte, so only a connection that is open both ways tells the truth (1 is TCP_ESTABLISHED).
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || info.tcpi_state != 1)
        return -1;
    if (ioctl(descriptor, FIONREAD, &waiting) != 0)
        return -1;
    return (long long)info.tcpi_bytes_received - waiting;
}
