-- flags: allow-oom
-- A backend says that all tokens of a user which were issued before now are worthless: "R user 0 at".
-- Devices that have signed in here are signed out by it.
-- keys: user, sessions, grants
-- args: user
-- replies: OK(number of sessions, time from which on tokens are good) | FENCED
-- If the clock went back, what was revoked stays so.
local at = int(math.max(now, tonumber(redis.call('HGET', userKey, 'revokedAt') or '0')))
redis.call('HSET', userKey, 'revokedAt', at)
redis.call('DEL', grantsKey)
redis.call('PUBLISH', channel, table.concat({ 'R', user, '0', at }, ' '))
return { 'OK', int(redis.call('HLEN', sessionsKey)), at }
