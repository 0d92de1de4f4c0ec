-- flags: allow-oom
-- Revokes all tokens of a user that were issued before now: "R user 0 at". It also signs out the user's devices.
-- keys: user, sessions, grants
-- args: user
-- replies: OK(number of sessions, time from which on tokens are good) | FENCED
-- If the clock was set back, earlier revocations stay.
local at = int(math.max(now, tonumber(redis.call('HGET', userKey, 'revokedAt') or '0')))
redis.call('HSET', userKey, 'revokedAt', at)
redis.call('DEL', grantsKey)
redis.call('PUBLISH', channel, table.concat({ 'R', user, '0', at }, ' '))
return { 'OK', int(redis.call('HLEN', sessionsKey)), at }
