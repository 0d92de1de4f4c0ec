-- flags: allow-oom
-- An administrator ends all sessions of a user, wherever they are: "D user 0 at SESSION SESSION …". A shard compares times
-- by what it last heard of Redis' clock, which may have jumped since; what is named is surely ended.
-- KEYS: shards, floor, user, sessions, past (if it is kept)
-- ARGV: now, channel, incarnation, user, bounds of the past
-- Replies {OK, number of sessions} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local user = read(ARGV[4], KEYS[3], KEYS[4], KEYS[2], ARGV[2], KEYS[5], ARGV[5])
local sessions = redis.call('HKEYS', KEYS[4])
if #sessions > 0 then
    redis.call('DEL', KEYS[4])
    put(user, 'barredAt', int(now))
    seen(user, now)
end
tell(user, 'D', ARGV[4], '0', int(now), table.concat(sessions, ' '))
finish(user, now)
return { 'OK', int(#sessions) }
