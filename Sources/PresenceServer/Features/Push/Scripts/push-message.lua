-- flags: no-writes
-- The newest message after one that a user has read, or written, which is not deleted, nor of somebody whom they have blocked.
-- KEYS: conversation, log
-- ARGV: now, number of the newest that they have read or written, most messages to look at, the newest to look at,
--       then members whom they have blocked
-- Replies the message as the log has it; nothing if there is none; 1 if the newest to look at is deleted and there is no other.
local held = redis.call('HMGET', KEYS[1], 'first', 'last')
local blocked = {}
for i = 5, #ARGV do blocked[ARGV[i]] = true end
local first, last = tonumber(held[1] or '1'), tonumber(held[2] or '0')
local newest = tonumber(ARGV[4])
if newest < first or newest > last then return false end
local reply = false
for seq = newest, math.max(first, tonumber(ARGV[2]) + 1, newest - tonumber(ARGV[3]) + 1), -1 do
    local raw = redis.call('LINDEX', KEYS[2], seq - last - 1)
    -- ID SEQ VERSION AT FROM EDITEDAT EDITCOUNT DELETEDAT
    local from, deletedAt = string.match(raw or '', '^%S+ %S+ %S+ %S+ (%S+) %S+ %S+ (%d+) ')
    if deletedAt == '0' and not blocked[from] then return raw end
    if seq == newest and deletedAt and deletedAt ~= '0' then reply = 1 end
end
return reply
