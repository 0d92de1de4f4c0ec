/// libcurl for Swift, which imports no variadic functions: `curl_easy_setopt` and its like by the type of their
/// argument.
#pragma once
#include <curl/curl.h>

CURLcode ccurl_set_long(CURL *_Nonnull easy, CURLoption option, long value);
CURLcode ccurl_set_size(CURL *_Nonnull easy, CURLoption option, curl_off_t value);
/// libcurl copies the text.
CURLcode ccurl_set_text(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value);
/// For values that libcurl does not copy: the owner keeps them until the transfer is over.
CURLcode ccurl_set_pointer(CURL *_Nonnull easy, CURLoption option, void *_Nullable value);
/// For functions that read or supply bytes: both have the same type.
CURLcode ccurl_set_bytes_function(CURL *_Nonnull easy, CURLoption option, curl_write_callback _Nonnull function);
CURLcode ccurl_set_socket_function(CURL *_Nonnull easy, curl_opensocket_callback _Nonnull function);
CURLcode ccurl_set_prerequest_function(CURL *_Nonnull easy, curl_prereq_callback _Nonnull function);

CURLcode ccurl_set_progress_function(CURL *_Nonnull easy, curl_xferinfo_callback _Nonnull function);
CURLMcode ccurl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value);

/// 0 if the value is unknown.
long ccurl_get_long(CURL *_Nonnull easy, CURLINFO info);

/// The socket of the handle's connection; CURL_SOCKET_BAD if there is none.
curl_socket_t ccurl_get_socket(CURL *_Nonnull easy);

/// The handle of a finished transfer; NULL if there is none.
CURL *_Nullable ccurl_multi_finished(CURLM *_Nonnull multi, CURLcode *_Nonnull result);

/// Opens a socket for an address that libcurl wants to connect to.
curl_socket_t ccurl_socket(const struct curl_sockaddr *_Nonnull address);
