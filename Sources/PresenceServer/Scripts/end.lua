-- flags: allow-oom
-- Ends one session.
-- KEYS: shards, floor, user, sessions, shard's users
-- ARGV: now, channel, incarnation, user, session, ms since anything was received from it
-- Replies {OK} or {FENCED}.
local channel, incarnation, user = ARGV[2], ARGV[3], ARGV[4]
if fenced(KEYS[1], incarnation) then return { 'FENCED' } end
if redis.call('HDEL', KEYS[4], ARGV[5]) == 1 then seen(KEYS[3], now - tonumber(ARGV[6])) end

local left = false
for _, value in ipairs(redis.call('HVALS', KEYS[4])) do
    left = left or session(value).incarnation == incarnation
end
if not left then redis.call('SREM', KEYS[5], user) end
lapse(KEYS[3], channel, user)
announce(KEYS[3], KEYS[4], KEYS[2], channel, user, now)
return { 'OK' }
