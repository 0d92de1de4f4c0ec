-- flags: allow-oom
-- A chosen status may have run out.
-- KEYS: shards, floor, user, sessions, past (if it is kept)
-- ARGV: now, channel, incarnation, user, bounds of the past
-- Replies {OK, own status …} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local user = read(ARGV[4], KEYS[3], KEYS[4], KEYS[2], ARGV[2], KEYS[5], ARGV[5])
lapse(user)
finish(user, now, true)
return ownStatus(user)
