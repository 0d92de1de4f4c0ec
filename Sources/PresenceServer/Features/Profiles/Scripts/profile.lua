-- uses: profile-lib
-- Changes a profile.
-- keys: user
-- args: user, each(member, value encoded or '' to remove)
-- replies: OK(version, BODY) | FENCED
local changes = {}
for member, value in each() do changes[member] = value end
local version, body = changeProfile(channel, user, userKey, floorKey, changes)
return { 'OK', version, body }
