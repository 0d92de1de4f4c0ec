-- flags: allow-oom
-- uses: notification-lib
-- Reads the newest notifications of a user, and all that are unseen; or a page of those before a seq.
-- KEYS: shards, floor, notifications, notificationMarks
-- ARGV: now, channel, incarnation, user, most kept, ms for which they are kept, how many, version and newest seq that the
--       reader was told (0: it has nothing), the seq before which the page ends (0: no page)
-- Replies {OK, version, unseen, unread, seen, first, last, then of each, newest first: seq, u or r, the notification, or ''
-- if the reader was told} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local b = notificationsAt(KEYS[3], KEYS[4], KEYS[2], tonumber(ARGV[5]), tonumber(ARGV[6]))
-- The store has lost what it once had: what comes next is newer than what was told.
local version, told = tonumber(ARGV[8]), tonumber(ARGV[9])
if version > b.version then b.version, b.changed = version, true end
if told > b.last then b.last, b.changed = told, true end
if b.changed then save(b, ARGV[2], ARGV[4], {}) end
local unseen, unread, first = countsOf(b)
local reply = { 'OK', int(b.version), int(unseen), int(unread), int(b.seen), int(first), int(b.last) }
local left, wanted, before = math.max(unseen, tonumber(ARGV[7])), {}, tonumber(ARGV[10])
local i = #b.states
if before > 0 then left, i = tonumber(ARGV[7]), placeAfter(b, before - 1) - 1 end
while i > 0 and left > 0 do
    local state = stateOf(b, i)
    if state ~= 'x' then
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
    for place, item in ipairs(redis.call('HMGET', KEYS[3], unpack(wanted))) do
        reply[7 + 3 * place] = item or ''
    end
end
return reply
