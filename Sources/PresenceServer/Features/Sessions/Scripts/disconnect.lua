-- flags: allow-oom
-- An administrator ends all sessions of a user, wherever they are: "D user 0 at".
-- KEYS: shards, floor, user, sessions
-- ARGV: now, channel, incarnation, user
-- Replies {OK, number of sessions} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local user = read(ARGV[4], KEYS[3], KEYS[4], KEYS[2], ARGV[2])
local count = redis.call('HLEN', KEYS[4])
if count > 0 then
    redis.call('DEL', KEYS[4])
    put(user, 'barredAt', int(now))
    seen(user, now)
end
tell(user, 'D', ARGV[4], '0', int(now))
finish(user, now)
return { 'OK', int(count) }
