-- flags: no-writes
-- uses: account-lib, push-lib, notification-lib
-- A notification whose push is still wanted: the user has neither read nor seen nor archived it, and none has taken its place; or it
-- is for its push alone.
-- keys: notifications, notificationMarks
-- args: seq, keep so many, keepFor so many ms
-- replies: OK(the notification without the last brace or '' if its push was made) | NONE
seq = tonumber(seq)
local b = notificationsAt(notificationsKey, notificationMarksKey, nil, tonumber(keep), tonumber(keepFor))
local place = placeAfter(b, seq - 1)
if place > #b.states or seqOf(b, place) ~= seq then return { 'NONE' } end
local state = stateOf(b, place)
if state == 'p' then return { 'OK', redis.call('HGET', notificationsKey, 'push ' .. int(seq)) or '' } end
if state ~= 'u' or b.seen >= seq then return { 'NONE' } end
return { 'OK', redis.call('HGET', notificationsKey, int(seq)) or '' }
