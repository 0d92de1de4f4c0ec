-- flags: allow-oom
-- uses: push-lib, notification-lib
-- A message has been deleted. If it was pushed to a user, that push is forgotten, and a push is decided anew: of an older message, or
-- of the next one. A decision that is under way is made anew. The user's notification of the message is archived, whatever was pushed
-- since. If the message was pushed, its notification's id is entered as of then: notify, which may come later, stores none.
-- keys: pushed, notifications, notificationMarks, push, sessions
-- args: user, conversation, seq of the message, keep so many notifications or 0 if messages make none, keepFor so many ms, wait in
--       ms, id of the notification, newest number of the conversation
-- replies: OK(ms until it is decided if it must be decided anew) | FENCED
local toldSeq, at = string.match(redis.call('HGET', pushedKey, conversation) or '', '^(%d+) (%d+)')
local isTold, reply = toldSeq == seq, { 'OK' }
if isTold then
    redis.call('HDEL', pushedKey, conversation) -- mutation: deleted-push-is-forgotten
    local due = { push = pushKey, pushed = pushedKey, sessions = sessionsKey }
    reply[2] = int(noteDue(due, user, conversation, tonumber(newest), tonumber(wait))) -- mutation: unread-beside-deleted
end
local first, newestNoted, held, deletions = noted(pushedKey, conversation)
if newestNoted > 0 then putNoted(pushedKey, conversation, first, newestNoted, held, deletions + 1) end
keep, keepFor = tonumber(keep), tonumber(keepFor)
if keep == 0 then return reply end
local b = notificationsAt(notificationsKey, notificationMarksKey, floorKey, keep, keepFor)
local idHash, archived = short(id), {}
-- Earlier versions made ids of the push's time.
local old = isTold and find(b, short('message-' .. at .. '-' .. conversation), 1, 1)
local place = find(b, idHash, 1, 1) or old -- mutation: also-after-later-pushes
if place and stateOf(b, place) ~= 'x' then
    archived[1] = int(seqOf(b, place))
    retire(b, place)
end
if isTold then
    -- By then the id is known.
    if place then drop(b, place) end
    b.last = b.last + 1
    append(b, idHash, NONE, b.last, tonumber(at))
    setState(b, #b.states, 'x')
    trim(b, keep, keepFor)
end
if b.changed then save(b, channel, user, { read = {}, archived = archived }) end
if isTold then redis.call('PEXPIRE', b.entries, int(keepFor)) end
return reply
