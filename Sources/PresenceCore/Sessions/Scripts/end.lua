-- flags: allow-oom
-- Ends one session.
-- KEYS: shards, floor, user, sessions, shard's users, past (if it is kept)
-- ARGV: now, channel, incarnation, user, session, ms since anything was received from it, bounds of
--       the past
-- Replies {OK} or {FENCED}.
local incarnation = ARGV[3]
if fenced(KEYS[1], incarnation) then return { 'FENCED' } end
local user = read(ARGV[4], KEYS[3], KEYS[4], KEYS[2], ARGV[2], KEYS[6], ARGV[7])
if redis.call('HDEL', KEYS[4], ARGV[5]) == 1 then seen(user, now - tonumber(ARGV[6])) end

local left = false
user.sessions = redis.call('HVALS', KEYS[4])
for _, value in ipairs(user.sessions) do
    left = left or session(value) == incarnation
end
if not left then redis.call('SREM', KEYS[5], ARGV[4]) end
lapse(user)
finish(user, now)
return { 'OK' }
