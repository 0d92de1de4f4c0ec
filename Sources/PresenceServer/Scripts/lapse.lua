-- flags: allow-oom
-- A chosen status may have run out.
-- KEYS: shards, floor, user, sessions
-- ARGV: now, channel, incarnation, user
-- Replies {OK, now, own status …} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
lapse(KEYS[3], ARGV[2], ARGV[4])
announce(KEYS[3], KEYS[4], KEYS[2], ARGV[2], ARGV[4], now)
local own = ownStatus(KEYS[3])
return { 'OK', int(now), own[1], own[2], own[3], own[4] }
