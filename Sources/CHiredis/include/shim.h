/// hiredis for Swift: connecting, the reader of replies, and the blocking calls.
///
/// Left out on purpose: <hiredis/async.h> and its libev adapter. That layer writes with write(2), which can raise
/// SIGPIPE. It allocates a callback and up to eight replies for each message of a subscription. It passes a reply to
/// the wrong callback when a subscribed connection sends a PING, and it aborts the process on SSUBSCRIBE. The module
/// Redis uses the synchronous context with its own loop instead, which hiredis supports by redisConnectNonBlock,
/// redisBufferRead and redisGetReplyFromReader.
#pragma once
#include <hiredis/hiredis.h>
