-- Records an upload of a member, whose files are already stored.
-- keys: conversation, attachments, attachmentsDue, attachment
-- args: conversation, user, name, unusedFor so many ms it stays without a message, each(field of `attachment`, value)
-- replies: OK | FORBIDDEN | FENCED
if redis.call('HEXISTS', conversationKey, 'm:' .. user) == 0 then return { 'FORBIDDEN' } end
redis.call('HSET', attachmentsKey, name, user .. ' ' .. int(now) .. ' 0')
redis.call('ZADD', attachmentsDueKey, int(now + tonumber(unusedFor)), name .. ' ' .. conversation)
redis.call('HSET', attachmentKey, 'conversation', conversation)
for field, value in each() do redis.call('HSET', attachmentKey, field, value) end
return { 'OK' }
