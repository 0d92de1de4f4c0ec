-- flags: allow-oom
-- uses: notification-lib
-- A user has seen notifications up to a seq, has read some, archives some.
-- keys: notifications, notificationMarks
-- args: user, keep so many, keepFor so many ms, sessionID, seenTo this seq or 0, reads as so many of the seqs are of read ones,
--       each(seq of those and then of archived ones)
-- replies: OK(version, unseen, unread, seen, first) | FENCED
keep, keepFor = tonumber(keep), tonumber(keepFor)
local b = notificationsAt(notificationsKey, notificationMarksKey, floorKey, keep, keepFor)
local news, left = { session = sessionID, read = {}, archived = {} }, tonumber(reads)
seenTo = math.min(tonumber(seenTo), b.last)
if seenTo > b.seen then b.seen, b.changed = seenTo, true end -- mutation: seen-grows
for seq in each() do
    seq, left = tonumber(seq), left - 1
    local place = placeAfter(b, seq - 1)
    local state = place <= #b.states and seqOf(b, place) == seq and stateOf(b, place)
    if left >= 0 and state == 'u' then
        setState(b, place, 'r')
        news.read[#news.read + 1] = int(seq) -- mutation: read-are-named
    elseif left < 0 and (state == 'u' or state == 'r') then
        retire(b, place)
        news.archived[#news.archived + 1] = int(seq) -- mutation: archived-are-named
    end
end
-- Not at the next reading: that would be a change with a version of its own, published to all devices.
trim(b, keep, keepFor)
if b.changed then save(b, channel, user, news) end
local unseen, unread, first = countsOf(b)
return { 'OK', int(b.version), int(unseen), int(unread), int(b.seen), int(first) }
