-- flags: allow-oom
-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- Removes expired messages of a conversation, a bounded number at once.
-- keys: conversation, log, changes, prints, aging, attachments, attachmentsDue
-- args: conversation, keepFor so many ms, most messages
-- replies: OK(how many went, 1 if more are to go) | FENCED
local c, limit, count = conversationAt(conversationKey, conversation), now - tonumber(keepFor), 0
if c.exists then
    local keys = { log = logKey, changes = changesKey, prints = printsKey, attachments = attachmentsKey, due = attachmentsDueKey }
    count = expire(c, limit, tonumber(most), keys)
end
if count > 0 then
    bump(c)
    saveAndPublish(c)
end
local oldest = redis.call('LINDEX', logKey, 0)
if not c.exists or not oldest then
    redis.call('ZREM', agingKey, conversation)
    return { 'OK', int(count), '0' }
end
local at = sentAt(oldest)
redis.call('ZADD', agingKey, int(at), conversation)
return { 'OK', int(count), at <= limit and '1' or '0' }
