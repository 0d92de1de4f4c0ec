-- flags: allow-oom
-- uses: account-lib, push-lib
-- A push that was due is told, with the newest 20 devices that may be pushed to; or it is not needed any more, unless a newer
-- message was noted since: then that is decided at once, or at the time of its own.
-- KEYS: shards, push, pushed, devices, grants, user
-- ARGV: now, channel, incarnation, user, conversation, newest number that was noted when it was looked at, ms after which a
--       session that is not used has ended, number of the message that is told, what is told of it before and after the devices, as
--       members ('' '': not needed)
-- Replies {OK}, {AGAIN} if there is a newer one, {GONE} if another was quicker, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local entry, most = ARGV[4] .. ' ' .. ARGV[5], 20
local first, newest = noted(KEYS[3], ARGV[5])
if ARGV[9] == '' and newest > tonumber(ARGV[6]) then
    if not redis.call('ZSCORE', KEYS[2], entry) then return { 'GONE' } end
    -- One that came while the decision was put off has a time of its own (push-note).
    if first <= tonumber(ARGV[6]) then redis.call('ZADD', KEYS[2], int(now), entry) end
    return { 'AGAIN' }
end
if redis.call('ZREM', KEYS[2], entry) == 0 then return { 'GONE' } end
redis.call('HDEL', KEYS[3], ' ' .. ARGV[5])
if ARGV[9] == '' then return { 'OK' } end
local devices = devicesOf(KEYS[4], KEYS[5], KEYS[6], tonumber(ARGV[7]))
table.sort(devices, function(a, b) return a.at > b.at end)
local told = {}
for i = 1, math.min(#devices, most) do
    told[i] = '{"platform":"' .. devices[i].platform .. '","pushToken":' .. devices[i].token .. '}'
end
redis.call('HSET', KEYS[3], ARGV[5], ARGV[8])
offer('push.due', ARGV[4] .. ' ' .. ARGV[9] .. ',"devices":[' .. table.concat(told, ',') .. '],' .. ARGV[10])
return { 'OK' }
