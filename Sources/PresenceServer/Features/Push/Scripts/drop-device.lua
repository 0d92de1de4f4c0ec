-- flags: allow-oom
-- A push service has said that a token is none any more. Where it has been registered since, it stays.
-- KEYS: shards, devices
-- ARGV: now, channel, incarnation, platform, token as JSON, as of when
-- Replies {OK, how many devices were removed} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local removed, fields = 0, redis.call('HGETALL', KEYS[2])
for i = 1, #fields, 2 do
    local platform, at, token = string.match(fields[i + 1], '^(%a+) (%d+) (.+)$')
    if platform == ARGV[4] and token == ARGV[5] and tonumber(at) <= tonumber(ARGV[6]) then
        removed = removed + redis.call('HDEL', KEYS[2], fields[i])
    end
end
return { 'OK', int(removed) }
