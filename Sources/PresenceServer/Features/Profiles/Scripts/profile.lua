-- uses: profile-lib
-- Changes a profile.
-- keys: user, directory
-- args: user, each(member, value encoded or '' to remove)
-- replies: OK(version, BODY) | FENCED
local changes = {}
for member, value in each() do changes[member] = value end
local version, body = changeProfile(channel, user, userKey, floorKey, changes, directoryKey)
return { 'OK', version, body }
