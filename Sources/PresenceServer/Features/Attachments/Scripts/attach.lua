-- A member has uploaded something to a conversation, whose files are kept already.
-- KEYS: shards, conversation, attachments, attachments-due, attachment
-- ARGV: now, channel, incarnation, conversation, user, name, ms for which it stays without a message, then fields and values of
--       `attachment`
-- Replies {OK}, {FENCED} or {FORBIDDEN}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if redis.call('HEXISTS', KEYS[2], 'm:' .. ARGV[5]) == 0 then return { 'FORBIDDEN' } end
redis.call('HSET', KEYS[3], ARGV[6], ARGV[5] .. ' ' .. int(now) .. ' 0')
redis.call('ZADD', KEYS[4], int(now + tonumber(ARGV[7])), ARGV[6] .. ' ' .. ARGV[4])
redis.call('HSET', KEYS[5], 'conversation', ARGV[4], unpack(ARGV, 8))
return { 'OK' }
