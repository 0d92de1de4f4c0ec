-- flags: allow-oom
-- Resets a chosen status if its time is over.
-- keys: user, sessions, past used if statuses are kept
-- args: id of the user, bounds of the past or ''
-- replies: OK(own status …) | FENCED
local user = read(id, userKey, sessionsKey, floorKey, channel, pastKey, bounds)
lapse(user)
finish(user, now, true)
return ownStatus(user)
