-- The user chose a status.
-- KEYS: shards, floor, user, sessions, past (if it is kept)
-- ARGV: now, channel, incarnation, user, chosen, text ('' keep, null, JSON string), clearAfter ('' none), bounds of the
--       past
-- Replies {OK, own status …}, {FENCED} or {REVOKED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local user = read(ARGV[4], KEYS[3], KEYS[4], KEYS[2], ARGV[2], KEYS[5], ARGV[8])
if user.isRevoked then return { 'REVOKED' } end
lapse(user)
choose(user, ARGV[5], ARGV[6], ARGV[7])
finish(user, now, true)
return ownStatus(user)
