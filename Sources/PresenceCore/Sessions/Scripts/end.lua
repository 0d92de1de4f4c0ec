-- flags: allow-oom
-- Ends one session.
-- keys: user, sessions, shardUsers, past used if statuses are kept
-- args: id of the user, sessionID, silence in ms since anything was received from it, bounds of the past or ''
-- replies: OK | FENCED
local user = read(id, userKey, sessionsKey, floorKey, channel, pastKey, bounds)
if redis.call('HDEL', sessionsKey, sessionID) == 1 then seen(user, now - tonumber(silence)) end

local left = false
user.sessions = redis.call('HVALS', sessionsKey)
for _, value in ipairs(user.sessions) do
    left = left or session(value) == incarnation
end
if not left then redis.call('SREM', shardUsersKey, id) end -- mutation: leaks-user
lapse(user)
finish(user, now)
return { 'OK' }
