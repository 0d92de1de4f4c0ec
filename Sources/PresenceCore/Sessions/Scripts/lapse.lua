-- flags: allow-oom
-- A chosen status may have run out.
-- KEYS: shards, floor, user, sessions
-- ARGV: now, channel, incarnation, user
-- Replies {OK, now, own status …} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local user = read(ARGV[4], KEYS[3], KEYS[4], KEYS[2], ARGV[2])
lapse(user)
finish(user, now, true)
return ownStatus(user)
