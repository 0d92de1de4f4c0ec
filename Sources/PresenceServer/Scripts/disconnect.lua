-- flags: allow-oom
-- An administrator ends all sessions of a user, wherever they are: "D user 0 at".
-- KEYS: shards, floor, user, sessions
-- ARGV: now, channel, incarnation, user
-- Replies {OK, number of sessions} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local count = redis.call('HLEN', KEYS[4])
if count > 0 then
    redis.call('HSET', KEYS[3], 'barredAt', int(now))
    redis.call('DEL', KEYS[4])
    seen(KEYS[3], now)
end
redis.call('PUBLISH', ARGV[2], table.concat({ 'D', ARGV[4], '0', int(now) }, ' '))
announce(KEYS[3], KEYS[4], KEYS[2], ARGV[2], ARGV[4], now)
return { 'OK', int(count) }
