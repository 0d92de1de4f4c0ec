-- flags: allow-oom
-- Something that was uploaded is due: does it go? From this answer on no message can keep it.
-- KEYS: shards, attachments, attachments-due
-- ARGV: now, channel, incarnation, conversation, name, ms for which it stays without a message
-- Replies {OK, 1 if its files go, else 0} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local _, at, count = string.match(redis.call('HGET', KEYS[2], ARGV[5]) or '', '^(%S+) (%d+) (%d+)$')
local member = ARGV[5] .. ' ' .. ARGV[4]
if count and tonumber(count) > 0 then
    redis.call('ZREM', KEYS[3], member)
    return { 'OK', '0' }
end
if at and tonumber(at) + tonumber(ARGV[6]) > now then
    redis.call('ZADD', KEYS[3], int(tonumber(at) + tonumber(ARGV[6])), member)
    return { 'OK', '0' }
end
redis.call('HDEL', KEYS[2], ARGV[5])
return { 'OK', '1' }
