-- flags: allow-oom
-- A push that was due is told, with the devices of sessions that have not ended; or it is not needed any more.
-- KEYS: shards, push, pushed, devices, grants
-- ARGV: now, channel, incarnation, user, conversation, number of the newest message, what is told of it before and after the
--       devices, as members ('' '': not needed)
-- Replies {OK}, {GONE} if another was quicker, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if redis.call('ZREM', KEYS[2], ARGV[4] .. ' ' .. ARGV[5]) == 0 then return { 'GONE' } end
redis.call('HDEL', KEYS[3], ' ' .. ARGV[5])
if ARGV[7] == '' then return { 'OK' } end
local devices, fields = {}, redis.call('HGETALL', KEYS[4])
for i = 1, #fields, 2 do
    local grant = string.match(fields[i], '^g:(.+)$')
    if not grant or redis.call('HEXISTS', KEYS[5], grant) == 1 then
        local platform, token = string.match(fields[i + 1], '^(%a+) %d+ (.+)$')
        devices[#devices + 1] = '{"platform":"' .. platform .. '","pushToken":' .. token .. '}'
    end
end
redis.call('HSET', KEYS[3], ARGV[5], ARGV[6])
offer('push.due', ARGV[4] .. ' ' .. ARGV[7] .. ',"devices":[' .. table.concat(devices, ',') .. '],' .. ARGV[8])
return { 'OK' }
