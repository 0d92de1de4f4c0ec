-- flags: allow-oom
-- A push service does not know a token any more. A device that was registered with it since then stays.
-- keys: devices
-- args: platform, token as JSON, time as of which it is unknown
-- replies: OK(number of removed devices) | FENCED
local removed, fields = 0, redis.call('HGETALL', devicesKey)
for i = 1, #fields, 2 do
    local itsPlatform, at, itsToken = string.match(fields[i + 1], '^(%a+) (%d+) (.+)$')
    if itsPlatform == platform and itsToken == token and tonumber(at) <= tonumber(time) then
        removed = removed + redis.call('HDEL', devicesKey, fields[i])
    end
end
return { 'OK', int(removed) }
