-- flags: allow-oom
-- uses: notification-lib
-- Reads the newest notifications of a user, and all that are unseen; or a page of those before a seq.
-- keys: notifications, notificationMarks
-- args: user, keep so many, keepFor so many ms, count to read, version that the reader has or 0, told up to this seq or 0, before
--       this seq the page ends; 0: no page
-- replies: OK(version, unseen, unread, seen, first, last, then of each, newest first: seq, u or r, the notification, or '' if the
--       reader has it) | FENCED
local b = notificationsAt(notificationsKey, notificationMarksKey, floorKey, tonumber(keep), tonumber(keepFor))
-- Redis has lost what the reader got from it: later numbers are larger than the reader's.
version, told, before = tonumber(version), tonumber(told), tonumber(before)
if version > b.version then b.version, b.changed = version, true end
if told > b.last then b.last, b.changed = told, true end
if b.changed then save(b, channel, user, {}) end
local unseen, unread, first = countsOf(b)
local reply = { 'OK', int(b.version), int(unseen), int(unread), int(b.seen), int(first), int(b.last) }
local left, wanted = math.max(unseen, tonumber(count)), {}
local i = #b.states
if before > 0 then left, i = tonumber(count), placeAfter(b, before - 1) - 1 end
while i > 0 and left > 0 do -- mutation: reads-all
    local state = stateOf(b, i)
    if state == 'u' or state == 'r' then
        local seq = seqOf(b, i)
        if seq > told then wanted[#wanted + 1] = int(seq) end
        reply[#reply + 1] = int(seq)
        reply[#reply + 1] = state
        reply[#reply + 1] = ''
        left = left - 1
    end
    i = i - 1
end
if #wanted > 0 then
    for place, item in ipairs(redis.call('HMGET', notificationsKey, unpack(wanted))) do
        reply[7 + 3 * place] = item or ''
    end
end
return reply
