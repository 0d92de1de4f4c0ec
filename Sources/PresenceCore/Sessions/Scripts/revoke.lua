-- flags: allow-oom
-- A backend says that all tokens of a user which were issued before now are worthless: "R user 0 at".
-- Devices that have signed in here are signed out by it.
-- KEYS: shards, user, sessions, grants
-- ARGV: now, channel, incarnation, user
-- Replies {OK, number of sessions, time from which on tokens are good} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
-- If the clock went back, what was revoked stays so.
local at = int(math.max(now, tonumber(redis.call('HGET', KEYS[2], 'revokedAt') or '0')))
redis.call('HSET', KEYS[2], 'revokedAt', at)
redis.call('DEL', KEYS[4])
redis.call('PUBLISH', ARGV[2], table.concat({ 'R', ARGV[4], '0', at }, ' '))
return { 'OK', int(redis.call('HLEN', KEYS[3])), at }
