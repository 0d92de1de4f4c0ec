-- A session's user became active or idle.
-- KEYS: shards, floor, user, sessions, past (if it is kept)
-- ARGV: now, channel, incarnation, user, session, state (a or i), bounds of the past
-- Replies {OK}, {FENCED} or {GONE}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local value = redis.call('HGET', KEYS[4], ARGV[5])
if not value then return { 'GONE' } end
local changed = string.gsub(value, '^(%S+ %S+ %S+) %S', '%1 ' .. ARGV[6])
redis.call('HSET', KEYS[4], ARGV[5], changed)
local user = read(ARGV[4], KEYS[3], KEYS[4], KEYS[2], ARGV[2], KEYS[5], ARGV[7])
lapse(user)
finish(user, now)
return { 'OK' }
