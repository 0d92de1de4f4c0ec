-- flags: allow-oom
-- uses: account-lib, push-lib
-- Offers a push that was due, with the newest 20 devices that may be pushed to; or no push is needed any more, unless a newer message
-- was noted since: that is decided at once, or at the time of its own.
-- keys: push, pushed, devices, grants, user, inbox, sessions
-- args: user, conversation, decided is the newest number that was noted when it was read, idle ms after which an unused session has
--       ended, seq of the message, before is what the push has before its devices as members or '' if none is needed, after is
--       what it has after them, told is the last push when it was read or '', wait in ms until a newer message is due, platforms
--       that this installation sends to with a space on both sides of each, limit of the lease (push-take), note when it was read
-- replies: OK | AGAIN(ms) if there is a newer message or what was read has changed or the lease has ended or the user has left
--       | GONE if another server was quicker | FENCED
local entry, most = user .. ' ' .. conversation, 20
if not redis.call('ZSCORE', pushKey, entry) then return { 'GONE' } end
if now >= tonumber(limit) then return { 'AGAIN', '0' } end
decided = tonumber(decided)
local first, newest, _, deletions = noted(pushedKey, conversation)
local isPush, isNewer = before ~= '', newest > decided
-- A message that came while the decision was put off has a time of its own (noteDue).
local hasTime = first > decided
local isDeleted = deletions ~= select(4, parsedNote(note)) -- mutation: deleted-is-decided-anew
if (redis.call('HGET', pushedKey, conversation) or '') ~= told or isDeleted or not isPush and isNewer then
    if not hasTime then redis.call('ZADD', pushKey, int(now), entry) end
    return { 'AGAIN', '0' }
end
-- A user who has left the conversation since it was read gets no push of it, nor one whose account is deleted. Where only the inbox
-- does not know yet that the user is back, it is decided again as well.
local left = string.sub(redis.call('HGET', inboxKey, conversation) or '', 1, 4) == 'out '
if isPush and (left or redis.call('HEXISTS', userKey, 'deletedAt') == 1) then
    redis.call('ZADD', pushKey, int(now + tonumber(wait)), entry)
    return { 'AGAIN', wait }
end
wait = waitOf(sessionsKey, tonumber(wait))
if isPush and isNewer then -- mutation: newer-is-decided
    -- The user may have read this message before the newer one came. That is found when its own time is over.
    if not hasTime then
        first = newest
        redis.call('ZADD', pushKey, int(now + wait), entry)
    end
    putNoted(pushedKey, conversation, first, newest, 0, deletions)
else
    redis.call('ZREM', pushKey, entry)
    redis.call('HDEL', pushedKey, ' ' .. conversation)
end
if not isPush then return { 'OK' } end
local devices = devicesOf(devicesKey, grantsKey, userKey, tonumber(idle))
table.sort(devices, function(a, b) return a.at > b.at end)
local shown, value = {}, int(tonumber(seq)) .. ' ' .. int(now)
for i = 1, math.min(#devices, most) do
    local platform, token = devices[i].platform, devices[i].token
    local name = platform == 'web' and 'subscription' or 'pushToken'
    shown[i] = '{"platform":"' .. platform .. '","' .. name .. '":' .. token .. '}'
    value = value .. ' ' .. deviceName(platform, token, platforms)
end
redis.call('HSET', pushedKey, conversation, value) -- mutation: push-is-remembered
offer('push.due', user .. ' ' .. before .. ',"devices":[' .. table.concat(shown, ',') .. '],' .. after, seq)
if isNewer then return { 'AGAIN', int(wait) } end
return { 'OK' }
