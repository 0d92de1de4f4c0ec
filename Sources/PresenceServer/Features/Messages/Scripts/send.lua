-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- A member sends a message. Its id makes it the same however often it is sent.
-- KEYS: shards, floor, conversation, log, changes, prints, aging (conversations by when their oldest message was sent; used if
--       messages are kept for a time), attachments, attachments-due
-- ARGV: now, channel, incarnation, conversation, from, id, text, attachments or '', priority or '', most messages kept,
--       ms for which they are kept or 0, 1 if one of two blocks the other, the longest message in bytes
-- Replies {OK, number of members, MESSAGE}, {OK, MESSAGE} if it was sent before, {FENCED}, {FORBIDDEN}, {CONFLICT}, {BLOCKED} or {LARGE}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[3])
local sender = c.members[ARGV[5]]
if not sender then return { 'FORBIDDEN' } end
if not isWhole(c, KEYS[4]) then return redis.error_reply(notWhole) end
local content = hash(ARGV[5] .. '\31' .. ARGV[7] .. '\31' .. ARGV[8])
local known, first = find(KEYS[4], KEYS[6], ARGV[6])
if known then
    if first ~= content then return { 'CONFLICT' } end
    return { 'OK', known }
end
if first > mostPlaces then return { 'CONFLICT' } end
if ARGV[12] == '1' then return { 'BLOCKED' } end
local m = { id = ARGV[6], seq = int(c.last + 1), version = int(c.changes + 1), at = int(now), from = ARGV[5],
    editedAt = '0', editCount = 0, deletedAt = '0', deletedBy = '-', text = ARGV[7], attachments = ARGV[8],
    priority = ARGV[9], edits = {} }
if not fit(m, tonumber(ARGV[13])) then return { 'LARGE' } end
c.last, c.changes = c.last + 1, c.changes + 1
local raw = stored(m)
redis.call('RPUSH', KEYS[4], raw)
redis.call('APPEND', KEYS[6], hash(ARGV[6]) .. content)

local keep, keepFor = tonumber(ARGV[10]), tonumber(ARGV[11])
local keys = { log = KEYS[4], changes = KEYS[5], prints = KEYS[6], attachments = KEYS[8], due = KEYS[9] }
mention(KEYS[8], KEYS[9], ARGV[4], ARGV[5], ARGV[8], 1)
local over = c.last - c.first + 1 - keep
if over > 0 then forget(c, over, keys, ARGV[4]) end
if keepFor > 0 then
    -- A conversation that was quiet for long gets rid of the rest with the next messages, or with the next sweep.
    expire(c, now - keepFor, 100, keys, ARGV[2], ARGV[4])
    if not redis.call('ZSCORE', KEYS[7], ARGV[4]) then
        redis.call('ZADD', KEYS[7], int(sentAt(redis.call('LINDEX', KEYS[4], 0))), ARGV[4])
    end
end
put(c, 'first', int(c.first))
put(c, 'last', int(c.last))
put(c, 'message', raw)
if ARGV[9] ~= '' then
    local priority = priorities(c, function() return false end)
    priority[#priority + 1] = int(c.last)
    while #priority > 32 do table.remove(priority, 1) end
    put(c, 'priority', table.concat(priority, ' '))
end
sender.own = c.last
putMember(c, ARGV[5])
note(c, c.last, raw, KEYS[5], keep, ARGV[2], ARGV[4])
bump(c, KEYS[2])
save(c, ARGV[2], ARGV[4])
offer('message.created', ARGV[4] .. ' ' .. raw)
return { 'OK', int(c.size), raw }
