-- A session's user became active or idle.
-- keys: user, sessions, past used if statuses are kept
-- args: id of the user, sessionID, state a or i, bounds of the past or ''
-- replies: OK | GONE | FENCED
local values, held, changed = redis.call('HGETALL', sessionsKey), {}, nil
for i = 1, #values, 2 do
    local value = values[i + 1]
    if values[i] == sessionID then
        value = string.gsub(value, '^(%S+ %S+ %S+) %S', '%1 ' .. state)
        changed = value
    end
    held[#held + 1] = value
end
if not changed then return { 'GONE' } end
redis.call('HSET', sessionsKey, sessionID, changed)
local user = read(id, userKey, sessionsKey, floorKey, channel, pastKey, bounds)
user.sessions = held
lapse(user)
finish(user, now)
return { 'OK' }
