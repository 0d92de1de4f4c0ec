#define _GNU_SOURCE
#include "ccurl.h"
#include <sys/socket.h>

// In parentheses to avoid the macros, which check constant options only.
CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) { return (curl_easy_setopt)(easy, option, value); }

CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return (curl_easy_setopt)(easy, option, value);
}

CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
    return (curl_easy_setopt)(easy, option, value);
}

CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return (curl_easy_setopt)(easy, option, value);
}

CURLcode ccurl_set_bytes_function(CURL *easy, CURLoption option, curl_write_callback function) {
    return (curl_easy_setopt)(easy, option, function);
}

CURLcode ccurl_set_socket_function(CURL *easy, curl_opensocket_callback function) {
    return (curl_easy_setopt)(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}

CURLcode ccurl_set_prerequest_function(CURL *easy, curl_prereq_callback function) {
    return (curl_easy_setopt)(easy, CURLOPT_PREREQFUNCTION, function);
}

CURLcode ccurl_set_progress_function(CURL *easy, curl_xferinfo_callback function) {
    return (curl_easy_setopt)(easy, CURLOPT_XFERINFOFUNCTION, function);
}

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return (curl_multi_setopt)(multi, option, value);
}

long ccurl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return (curl_easy_getinfo)(easy, info, &value) == CURLE_OK ? value : 0;
}

curl_socket_t ccurl_get_socket(CURL *easy) {
    curl_socket_t socket = CURL_SOCKET_BAD;
    return (curl_easy_getinfo)(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK ? socket : CURL_SOCKET_BAD;
}

CURL *ccurl_multi_finished(CURLM *multi, CURLcode *result) {
    for (;;) {
        int left = 0;
        CURLMsg *message = curl_multi_info_read(multi, &left);
        if (!message) return NULL;
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
}

curl_socket_t ccurl_socket(const struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
