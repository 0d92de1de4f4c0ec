-- uses: profile-lib
-- Changes a profile.
-- KEYS: shards, floor, user
-- ARGV: now, channel, incarnation, user, then pairs: member, encoded value or '' to remove
-- Replies {OK, version, BODY} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local changes = {}
for i = 5, #ARGV, 2 do changes[ARGV[i]] = ARGV[i + 1] end
local version, body = changeProfile(ARGV[2], ARGV[4], KEYS[3], KEYS[2], changes)
return { 'OK', version, body }
