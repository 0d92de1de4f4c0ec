-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- A member sends a message. A message with the same id is the same message, however often it is sent.
-- keys: conversation, log, changes, prints, aging used if messages are kept for a time, attachments, attachmentsDue,
--       verdict used if ask is not 0
-- args: conversation, from, id, text, attachments or '', priority or '', keep so many messages, keepFor so many ms or 0,
--       isBlocked if one of two blocks the other, longest message in bytes,
--       ask for so many ms if it needs a verdict or -1 to look for it or 0, replacement of the text or ''
-- replies: OK(number of members, MESSAGE) | OK(MESSAGE) if it was sent before | FORBIDDEN | CONFLICT | BLOCKED | LARGE
--       | BANNED(until, reason) | ASK | VERDICT(verdict) | FENCED
local c = conversationAt(conversationKey, conversation)
local sender = c.members[from]
if not sender then return { 'FORBIDDEN' } end
if not isWhole(c, logKey) then return redis.error_reply(notWhole) end
local content = hash(from .. '\31' .. text .. '\31' .. attachments)
local known, first = find(logKey, printsKey, id)
if known then -- mutation: sent-again
    if first ~= content then return { 'CONFLICT' } end
    return { 'OK', known } -- mutation: answered-again
end
if first > mostPlaces then return { 'CONFLICT' } end
if isBlocked == '1' then return { 'BLOCKED' } end -- mutation: blocked-writes
local ban = banned(c.bans[from])
if ban then return ban end -- mutation: banned-writes
if ask ~= '0' then return undecided(verdictKey, ask) end -- mutation: waits-for-the-verdict
local m = { id = id, seq = int(c.last + 1), version = int(c.changes + 1), at = int(now), from = from,
    editedAt = '0', editCount = 0, deletedAt = '0', deletedBy = '-',
    text = replacement ~= '' and replacement or text, -- mutation: replaced-text
    attachments = attachments, priority = priority, edits = {} }
if not fit(m, tonumber(longest)) then return { 'LARGE' } end
c.last, c.changes = c.last + 1, c.changes + 1
local raw = stored(m)
redis.call('RPUSH', logKey, raw)
redis.call('APPEND', printsKey, hash(id) .. content)

local most, age = tonumber(keep), tonumber(keepFor)
local keys = { log = logKey, changes = changesKey, prints = printsKey, attachments = attachmentsKey, due = attachmentsDueKey }
countReferences(attachmentsKey, attachmentsDueKey, conversation, from, attachments, 1)
local over = c.last - c.first + 1 - most
if over > 0 then forget(c, over, keys) end
if age > 0 then
    -- A conversation that was idle for long loses the rest with the next messages, or with the next sweep.
    expire(c, now - age, 100, keys)
    if not redis.call('ZSCORE', agingKey, conversation) then
        redis.call('ZADD', agingKey, int(sentAt(redis.call('LINDEX', logKey, 0))), conversation) -- mutation: ages
    end
end
setField(c, 'first', int(c.first))
setField(c, 'last', int(c.last))
setField(c, 'message', raw)
if priority ~= '' then
    local numbers = priorities(c, function() return false end)
    numbers[#numbers + 1] = int(c.last)
    while #numbers > 32 do table.remove(numbers, 1) end
    setField(c, 'priority', table.concat(numbers, ' '))
end
sender.own = c.last -- mutation: own-is-read
-- Writing answers a request.
acceptRequest(c, from)
setMember(c, from)
publishChange(c, c.last, raw, changesKey, most)
bump(c)
saveAndPublish(c)
offer('message.created', conversation .. ' ' .. raw)
return { 'OK', int(c.size), raw }
