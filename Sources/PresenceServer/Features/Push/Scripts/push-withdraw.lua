-- flags: allow-oom
-- uses: account-lib, push-lib, notification-lib
-- A message has been deleted. If it was pushed to a user, that push does not count any more, and a push is decided anew: of an older
-- message, or of the next one. A decision that is under way is made anew. The user's notification of the message is archived, whatever
-- was pushed since. If the message was pushed, its notification's id is entered as of then: notify, which may come later, stores none.
-- keys: pushed, notifications, notificationMarks, push, sessions
-- args: user, conversation, seq of the message, keep so many notifications or 0 if messages make none, keepFor so many ms, wait in
--       ms, id of the notification
-- replies: OK(ms until it is decided if it must be decided anew) | FENCED
local record, entry, reply = pushAt(pushedKey, conversation), user .. ' ' .. conversation, { 'OK' }
local isTold = record.seq == tonumber(seq)
if isTold then
    setPush(pushedKey, conversation, record, 0, '0', '') -- mutation: deleted-push-is-forgotten
    reply[2] = schedulePush(pushKey, entry, sessionsKey, tonumber(wait)) -- mutation: unread-beside-deleted
elseif redis.call('ZSCORE', pushKey, entry) then
    setPush(pushedKey, conversation, record, record.seq, record.at, record.devices) -- mutation: deleted-is-decided-anew
end
keep, keepFor = tonumber(keep), tonumber(keepFor)
if keep == 0 then return reply end
local b = notificationsAt(notificationsKey, notificationMarksKey, floorKey, keep, keepFor)
local idHash, archived = short(id), {}
local place = find(b, idHash, 1, 1) -- mutation: also-after-later-pushes
if place and stateOf(b, place) ~= 'x' then
    archived[1] = int(seqOf(b, place))
    retire(b, place)
end
if isTold then
    -- By then the id is known.
    if place then drop(b, place) end
    b.last = b.last + 1
    append(b, idHash, NONE, b.last, tonumber(record.at))
    setState(b, #b.states, 'x')
    trim(b, keep, keepFor)
end
if b.changed then save(b, channel, user, { read = {}, archived = archived }) end
if isTold then redis.call('PEXPIRE', b.entries, int(keepFor)) end
return reply
