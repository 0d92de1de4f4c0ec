-- flags: allow-oom
-- An administrator ends all sessions of a user, on all shards: "D user 0 at SESSION SESSION …". A shard compares times by
-- the last time of Redis that it received, and Redis' clock may have jumped since. Sessions that are named end in any case.
-- keys: user, sessions, past used if statuses are kept
-- args: id of the user, bounds of the past or ''
-- replies: OK(number of sessions) | FENCED
local user = read(id, userKey, sessionsKey, floorKey, channel, pastKey, bounds)
local sessions = redis.call('HKEYS', sessionsKey)
if #sessions > 0 then
    redis.call('DEL', sessionsKey)
    setUserField(user, 'barredAt', int(now))
    seen(user, now)
end
redis.call('PUBLISH', channel, table.concat({ 'D', id, '0', int(now), table.concat(sessions, ' ') }, ' '))
finish(user, now)
return { 'OK', int(#sessions) }
