-- Stores a user's settings of notifications, whole, and publishes them to the user's sessions: "n user version at JSON". The pushes that are
-- held for the user are decided again.
-- keys: user
-- args: user, settings as JSON in the server's own form without the last brace
-- replies: OK(version) | FENCED
local version = int(nextVersion(redis.call('HGET', userKey, 'notifyVersion'), floorKey))
redis.call('HSET', userKey, 'notify', settings, 'notifyVersion', version)
redis.call('PUBLISH', channel, table.concat({ 'n', user, version, int(now), settings }, ' '))
offer('user.free', user .. ' {}') -- mutation: changed-is-decided-anew
return { 'OK', version }
