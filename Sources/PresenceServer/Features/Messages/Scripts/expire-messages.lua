-- flags: allow-oom
-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- A conversation's messages that are older than messages are kept go, a bounded number at once.
-- KEYS: shards, floor, conversation, log, changes, prints, aging, attachments, attachments-due
-- ARGV: now, channel, incarnation, conversation, ms for which messages are kept, most messages
-- Replies {OK, how many went, 1 if more are to go} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c, limit, count = conversationAt(KEYS[3]), now - tonumber(ARGV[5]), 0
if c.exists then
    local keys = { log = KEYS[4], changes = KEYS[5], prints = KEYS[6], attachments = KEYS[8], due = KEYS[9] }
    count = expire(c, limit, tonumber(ARGV[6]), keys, ARGV[2], ARGV[4])
end
if count > 0 then
    bump(c, KEYS[2])
    save(c, ARGV[2], ARGV[4])
end
local oldest = redis.call('LINDEX', KEYS[4], 0)
if not c.exists or not oldest then
    redis.call('ZREM', KEYS[7], ARGV[4])
    return { 'OK', int(count), '0' }
end
local at = sentAt(oldest)
redis.call('ZADD', KEYS[7], int(at), ARGV[4])
return { 'OK', int(count), at <= limit and '1' or '0' }
