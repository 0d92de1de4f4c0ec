-- Stores a user's settings of notifications, whole, and publishes them to the user's sessions: "n user version at JSON". The pushes that are
-- held for the user are decided again. Settings that the user has already change nothing.
-- keys: user
-- args: user, settings as JSON in the server's own form without the last brace
-- replies: OK(version) | FENCED
local stored = redis.call('HMGET', userKey, 'notify', 'notifyVersion')
if stored[1] == settings and tonumber(stored[2]) then return { 'OK', stored[2] } end
local version = int(nextVersion(stored[2], floorKey))
redis.call('HSET', userKey, 'notify', settings, 'notifyVersion', version)
redis.call('PUBLISH', channel, table.concat({ 'n', user, version, int(now), settings }, ' '))
offer('user.free', user .. ' {}') -- mutation: changed-is-decided-anew
return { 'OK', version }
