-- flags: allow-oom
-- uses: push-lib, notification-lib
-- A message has been deleted. If a user was pushed for it, that is forgotten, and it is decided anew what they are told of: an older
-- message, or the next one that comes. A decision that is under way is taken anew. Their notification of it is archived, whatever
-- they were pushed for since. If they were pushed for it, its id is entered as of then: notify, which may come later, makes none.
-- KEYS: shards, floor, pushed, notifications, notificationMarks, push, sessions
-- ARGV: now, channel, incarnation, user, conversation, number of the message, most notifications kept (0: messages are no
--       notifications), ms for which they are kept, ms to wait, id of the notification, newest number of the conversation
-- Replies {OK, ms until it is decided}, {OK} if it need not be decided anew, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local seq, at = string.match(redis.call('HGET', KEYS[3], ARGV[5]) or '', '^(%d+) (%d+)')
local isTold, reply = seq == ARGV[6], { 'OK' }
if isTold then
    redis.call('HDEL', KEYS[3], ARGV[5])
    local due = { push = KEYS[6], pushed = KEYS[3], sessions = KEYS[7] }
    reply[2] = int(noteDue(due, ARGV[4], ARGV[5], tonumber(ARGV[11]), tonumber(ARGV[9])))
end
local first, newest, held, deletions = noted(KEYS[3], ARGV[5])
if newest > 0 then putNoted(KEYS[3], ARGV[5], first, newest, held, deletions + 1) end
local keep, keepFor = tonumber(ARGV[7]), tonumber(ARGV[8])
if keep == 0 then return reply end
local b = notificationsAt(KEYS[4], KEYS[5], KEYS[2], keep, keepFor)
local id, archived = short(ARGV[10]), {}
-- Earlier versions made ids of when it was told.
local place = find(b, id, 1, 1) or isTold and find(b, short('message-' .. at .. '-' .. ARGV[5]), 1, 1)
if place and stateOf(b, place) ~= 'x' then
    archived[1] = int(seqOf(b, place))
    retire(b, place)
end
if isTold then
    -- What is told by then is known.
    if place then drop(b, place) end
    b.last = b.last + 1
    append(b, id, NONE, b.last, tonumber(at))
    setState(b, #b.states, 'x')
    trim(b, keep, keepFor)
end
if b.changed then save(b, ARGV[2], ARGV[4], { read = {}, archived = archived }) end
if isTold then redis.call('PEXPIRE', b.entries, ARGV[8]) end
return reply
