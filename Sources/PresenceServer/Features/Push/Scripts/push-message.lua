-- flags: no-writes
-- The newest message after those that a user has read or written, which is neither deleted nor from a user whom they have blocked.
-- keys: conversation, log
-- args: readTo this one or written, most messages to look at, newest to look at, sentBy this time, each(blocked member)
-- replies: OK(the message as the log has it) | NONE | DELETED if the newest to look at is deleted and there is no other
local held = redis.call('HMGET', conversationKey, 'first', 'last')
local isBlocked = {}
for blocked in each() do isBlocked[blocked] = true end
local first, last = tonumber(held[1] or '1'), tonumber(held[2] or '0')
newest, sentBy = tonumber(newest), tonumber(sentBy)
if newest < first or newest > last then return { 'NONE' } end
local reply = { 'NONE' }
for seq = newest, math.max(first, tonumber(readTo) + 1, newest - tonumber(most) + 1), -1 do
    local raw = redis.call('LINDEX', logKey, seq - last - 1)
    -- ID SEQ VERSION AT FROM EDITEDAT EDITCOUNT DELETEDAT
    local at, from, deletedAt = string.match(raw or '', '^%S+ %S+ %S+ (%d+) (%S+) %S+ %S+ (%d+) ')
    if deletedAt == '0' and not isBlocked[from] and tonumber(at) <= sentBy then return { 'OK', raw } end
    if seq == newest and deletedAt and deletedAt ~= '0' then reply = { 'DELETED' } end
end
return reply
