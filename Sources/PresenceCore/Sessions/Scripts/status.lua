-- The user chose a status.
-- keys: user, sessions, past used if statuses are kept
-- args: id of the user, chosen, text or '' to keep or null, clearAfter in ms or '', bounds of the past or ''
-- replies: OK(own status …) | REVOKED | FENCED
local user = read(id, userKey, sessionsKey, floorKey, channel, pastKey, bounds)
if user.isRevoked then return { 'REVOKED' } end
lapse(user)
choose(user, chosen, text, clearAfter)
finish(user, now, true)
return ownStatus(user)
