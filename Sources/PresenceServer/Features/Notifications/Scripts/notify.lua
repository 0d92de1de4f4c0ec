-- uses: notification-lib
-- A backend notifies users of one partition, or a message one user. One who has had a notification with this id gets nothing, unless
-- it was told anew since.
-- KEYS: shards, floor, then of each user: notifications, notificationMarks
-- ARGV: now, channel, incarnation, most kept, ms for which they are kept, id, collapse or '', JSON between seq and time,
--       when it was told (ms since 1970; '': its id is told once), users ...
-- Replies {OK, now, USER, its seq, ... of those who got it} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local keep, keepFor = tonumber(ARGV[4]), tonumber(ARGV[5])
local id, collapse = short(ARGV[6]), ARGV[7] ~= '' and short(ARGV[7]) or NONE
local reply, told = { 'OK', int(now) }, tonumber(ARGV[9])
-- Whether it was told anew since a known one. What is ahead of the clock came before the clock stepped back.
local function isAnew(known) return told and (known < told or told <= now and now < known) end
for i = 10, #ARGV do
    local user, b = ARGV[i], notificationsAt(KEYS[2 * i - 17], KEYS[2 * i - 16], KEYS[2], keep, keepFor)
    local news, known = { replaces = {} }, find(b, id, 1, 1)
    if known and isAnew(timeOf(b, known)) then
        if stateOf(b, known) ~= 'x' then news.replaces[1] = int(seqOf(b, known)) end
        drop(b, known)
        known = nil
    end
    if not known then
        local place = collapse ~= NONE and find(b, collapse, 9, 1)
        while place do
            if stateOf(b, place) == 'u' then
                news.replaces[#news.replaces + 1] = int(seqOf(b, place))
                retire(b, place)
            end
            place = find(b, collapse, 9, place + 1)
        end
        b.last = b.last + 1
        append(b, id, collapse, b.last, told)
        trim(b, keep, keepFor)
        news.item = '{"seq":' .. int(b.last) .. ARGV[8] .. ',"at":' .. int(now)
        redis.call('HSET', b.entries, int(b.last), news.item)
        redis.call('PEXPIRE', b.entries, ARGV[5])
        offer('notification.created', user .. ' ' .. news.item .. '}')
        reply[#reply + 1] = user
        reply[#reply + 1] = int(b.last)
    end
    if b.changed then save(b, ARGV[2], user, news) end
end
return reply
