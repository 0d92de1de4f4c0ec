-- flags: allow-oom
-- uses: notification-lib
-- A user has seen notifications up to a seq, has read some, archives some.
-- KEYS: shards, floor, notifications, notificationMarks
-- ARGV: now, channel, incarnation, user, most kept, ms for which they are kept, session, seen (0: nothing said), how many
--       were read, seqs of those, seqs of what is archived
-- Replies {OK, version, unseen, unread, seen, first} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local keep, keepFor = tonumber(ARGV[5]), tonumber(ARGV[6])
local b = notificationsAt(KEYS[3], KEYS[4], KEYS[2], keep, keepFor)
local news = { session = ARGV[7], read = {}, archived = {} }
local seen = math.min(tonumber(ARGV[8]), b.last)
if seen > b.seen then b.seen, b.changed = seen, true end
local read = 9 + tonumber(ARGV[9])
for i = 10, #ARGV do
    local seq = tonumber(ARGV[i])
    local place = placeAfter(b, seq - 1)
    local state = place <= #b.states and seqOf(b, place) == seq and stateOf(b, place)
    if i <= read and state == 'u' then
        setState(b, place, 'r')
        news.read[#news.read + 1] = int(seq)
    elseif i > read and (state == 'u' or state == 'r') then
        retire(b, place)
        news.archived[#news.archived + 1] = int(seq)
    end
end
-- Here, and not with the next reading: that would be a change with a version of its own, told to all devices.
trim(b, keep, keepFor)
if b.changed then save(b, ARGV[2], ARGV[4], news) end
local unseen, unread, first = countsOf(b)
return { 'OK', int(b.version), int(unseen), int(unread), int(b.seen), int(first) }
