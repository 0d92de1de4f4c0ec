-- flags: no-writes
-- The newest message after one that a user has read, or written, which is not deleted.
-- KEYS: conversation, log
-- ARGV: now, number of the newest that they have read or written, most messages to look at
-- Replies the message as the log has it; nothing if there is none.
local held = redis.call('HMGET', KEYS[1], 'first', 'last')
local first, last = tonumber(held[1] or '1'), tonumber(held[2] or '0')
for seq = last, math.max(first, tonumber(ARGV[2]) + 1, last - tonumber(ARGV[3]) + 1), -1 do
    local raw = redis.call('LINDEX', KEYS[2], seq - last - 1)
    -- ID SEQ VERSION AT FROM EDITEDAT EDITCOUNT DELETEDAT
    local deletedAt = raw and string.match(raw, '^%S+ %S+ %S+ %S+ %S+ %S+ %S+ (%d+) ')
    if deletedAt == '0' then return raw end
end
return false
