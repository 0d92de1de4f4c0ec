-- flags: allow-oom
-- Decides whether a due upload is removed. After GONE, no message can refer to it any more.
-- keys: attachments, attachmentsDue
-- args: conversation, name, unusedFor so many ms it stays without a message
-- replies: GONE if its files go | KEPT | FENCED
local _, at, count = string.match(redis.call('HGET', attachmentsKey, name) or '', '^(%S+) (%d+) (%d+)$')
local member = name .. ' ' .. conversation
if count and tonumber(count) > 0 then
    redis.call('ZREM', attachmentsDueKey, member)
    return { 'KEPT' }
end
if at and tonumber(at) + tonumber(unusedFor) > now then
    redis.call('ZADD', attachmentsDueKey, int(tonumber(at) + tonumber(unusedFor)), member)
    return { 'KEPT' }
end
redis.call('HDEL', attachmentsKey, name)
return { 'GONE' }
