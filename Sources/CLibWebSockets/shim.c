#define _GNU_SOURCE
#include "shim.h"
#include <errno.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>

int clws_accept(int listener, struct sockaddr_storage *peer)
{
    socklen_t length = sizeof(*peer);
    int descriptor = accept4(listener, (struct sockaddr *)peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return descriptor >= 0 ? descriptor : -errno;
}

int clws_waiting(int listener)
{
    // For a listening socket this field counts the waiting connections.
    struct tcp_info info = {.tcpi_unacked = 0};
    socklen_t length = offsetof(struct tcp_info, tcpi_unacked) + sizeof(info.tcpi_unacked);
    return getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? (int)info.tcpi_unacked : 0;
}

void clws_kill(struct lws *wsi, bool may_have_unsent)
{
    int descriptor = lws_get_socket_fd(wsi);
    SSL *ssl = lws_get_ssl(wsi);
    // libwebsockets would wait for the peer's close_notify, which can no longer arrive.
    if (ssl)
        SSL_set_quiet_shutdown(ssl, 1);
    if (descriptor >= 0) {
        unsigned char byte = 0;
        shutdown(descriptor, SHUT_RDWR);
        // During a handshake OpenSSL would read instead, and libwebsockets would then wait.
        if (may_have_unsent && (!ssl || SSL_is_init_finished(ssl)))
            lws_write(wsi, &byte, 1, LWS_WRITE_HTTP);
    }
    lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}

const char *clws_upgrade_head(void)
{
    return "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
}

enum { accept_length = 28 };

void clws_accept_key(const char *key, char accept[29])
{
    char joined[24 + 36 + 1];
    unsigned char hash[20];
    snprintf(joined, sizeof(joined), "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    lws_SHA1((const unsigned char *)joined, strlen(joined), hash);
    lws_b64_encode_string((const char *)hash, sizeof(hash), accept, accept_length + 1);
    // lws_b64_encode_string writes no zero if there is room for one byte only.
    accept[accept_length] = 0;
}

int clws_answer_upgrade(void *args, const char *accept, const char *protocol, const char *name)
{
    // The callback's position is right behind "Sec-WebSocket-Accept: …\r\n", the last of libwebsockets' own headers.
    static const char header[] = "Sec-WebSocket-Accept: ";
    struct lws_process_html_args *answer = args;
    char *value = answer->p - 2 - accept_length, *line = value - (sizeof(header) - 1);
    if (memcmp(line, header, sizeof(header) - 1) != 0)
        return -1;
    memcpy(value, accept, accept_length);
    int length = snprintf(
        answer->p, (size_t)answer->max_len, "%s%s%sX-Request-Id: %s\r\n", protocol ? "Sec-WebSocket-Protocol: " : "",
        protocol ? protocol : "", protocol ? "\r\n" : "", name);
    // Keeps room for the empty line that ends the head.
    if (length < 0 || length + 2 >= answer->max_len)
        return -1;
    answer->p += length;
    return 0;
}

int clws_service(struct lws *wsi)
{
    struct lws_pollfd ready = {.fd = lws_get_socket_fd(wsi), .events = LWS_POLLIN, .revents = LWS_POLLIN};
    return lws_service_fd_tsi(lws_get_context(wsi), &ready, 0);
}

void clws_wake_at(int descriptor, int bytes)
{
    setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

int clws_has_ended(int descriptor)
{
    struct tcp_info info;
    socklen_t length = sizeof(info);
    memset(&info, 0, sizeof(info));
    // 1 is TCP_ESTABLISHED: open both ways.
    return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || info.tcpi_state != 1;
}

void clws_hold_back(struct lws *wsi, bool holds)
{
    int value = holds;
    setsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, TCP_CORK, &value, sizeof(value));
}

void clws_return_memory(void)
{
    malloc_trim(0);
}
