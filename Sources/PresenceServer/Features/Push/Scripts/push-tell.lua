-- flags: allow-oom
-- uses: account-lib, push-lib
-- A push that was due is told, with the newest 20 devices that may be pushed to; or it is not needed any more, unless a newer
-- message was noted since: then that is decided at once, or at the time of its own.
-- KEYS: shards, push, pushed, devices, grants, user, inbox
-- ARGV: now, channel, incarnation, user, conversation, newest number that was noted when it was looked at, ms after which a
--       session that is not used has ended, number of the message that is told, what is told of it before and after the devices, as
--       members ('' '': not needed), what they were pushed for when it was looked at ('': nothing), ms until a newer message
--       is due, platforms that this installation sends to, each with a space on both sides, until when it was taken (push-take),
--       what was noted when it was looked at
-- Replies {OK}, {AGAIN, ms} if there is a newer one, what it was decided on has changed or was read too long ago, or they have
-- left, {GONE} if another was quicker, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local entry, most = ARGV[4] .. ' ' .. ARGV[5], 20
if not redis.call('ZSCORE', KEYS[2], entry) then return { 'GONE' } end
if now >= tonumber(ARGV[14]) then return { 'AGAIN', '0' } end
local first, newest, _, deletions = noted(KEYS[3], ARGV[5])
local isNewer = newest > tonumber(ARGV[6])
-- One that came while the decision was put off has a time of its own (push-note).
local hasTime = first > tonumber(ARGV[6])
local isDeleted = deletions ~= select(4, parsedNote(ARGV[15]))
if (redis.call('HGET', KEYS[3], ARGV[5]) or '') ~= ARGV[11] or isDeleted or ARGV[9] == '' and isNewer then
    if not hasTime then redis.call('ZADD', KEYS[2], int(now), entry) end
    return { 'AGAIN', '0' }
end
-- Who has left the conversation since it was read is told nothing of it, and nobody whose account is deleted. Where the inbox
-- has only to hear that they are back, it is decided again as well.
local left = string.sub(redis.call('HGET', KEYS[7], ARGV[5]) or '', 1, 4) == 'out '
if ARGV[9] ~= '' and (left or redis.call('HEXISTS', KEYS[6], 'deletedAt') == 1) then
    redis.call('ZADD', KEYS[2], int(now + tonumber(ARGV[12])), entry)
    return { 'AGAIN', ARGV[12] }
end
if ARGV[9] ~= '' and isNewer then
    -- What is told now may have been read before the newer one came. That is seen when its own time is over.
    if not hasTime then
        first = newest
        redis.call('ZADD', KEYS[2], int(now + tonumber(ARGV[12])), entry)
    end
    putNoted(KEYS[3], ARGV[5], first, newest, 0, deletions)
else
    redis.call('ZREM', KEYS[2], entry)
    redis.call('HDEL', KEYS[3], ' ' .. ARGV[5])
end
if ARGV[9] == '' then return { 'OK' } end
local devices = devicesOf(KEYS[4], KEYS[5], KEYS[6], tonumber(ARGV[7]))
table.sort(devices, function(a, b) return a.at > b.at end)
local told, value = {}, int(tonumber(ARGV[8])) .. ' ' .. int(now)
for i = 1, math.min(#devices, most) do
    local platform, token = devices[i].platform, devices[i].token
    told[i] = '{"platform":"' .. platform .. '","pushToken":' .. token .. '}'
    value = value .. ' ' .. deviceName(platform, token, ARGV[13])
end
redis.call('HSET', KEYS[3], ARGV[5], value)
offer('push.due', ARGV[4] .. ' ' .. ARGV[9] .. ',"devices":[' .. table.concat(told, ',') .. '],' .. ARGV[10], ARGV[8])
if isNewer then return { 'AGAIN', ARGV[12] } end
return { 'OK' }
