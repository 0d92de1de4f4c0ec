-- flags: allow-oom
-- uses: push-lib, notification-lib
-- A message has been deleted. If a user was pushed for it, that is forgotten, and it is decided anew what they are told of: an older
-- message, or the next one that comes. Their notification of it is archived. If notify has not made that yet, its id is entered, and
-- notify then makes none.
-- KEYS: shards, floor, pushed, notifications, notificationMarks, push, sessions
-- ARGV: now, channel, incarnation, user, conversation, number of the message, most notifications kept (0: messages are no
--       notifications), ms for which they are kept, ms to wait
-- Replies {OK, ms until it is decided}, {OK} if they were not pushed for it, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local seq, at = string.match(redis.call('HGET', KEYS[3], ARGV[5]) or '', '^(%d+) (%d+)')
if seq ~= ARGV[6] then return { 'OK' } end
redis.call('HDEL', KEYS[3], ARGV[5])
local due = { push = KEYS[6], pushed = KEYS[3], sessions = KEYS[7] }
local reply = { 'OK', int(noteDue(due, ARGV[4], ARGV[5], tonumber(seq), tonumber(ARGV[9]))) }
local keep, keepFor = tonumber(ARGV[7]), tonumber(ARGV[8])
if keep == 0 then return reply end
local b = notificationsAt(KEYS[4], KEYS[5], KEYS[2], keep, keepFor)
local id, archived = short(messageNotification(ARGV[5], at)), {}
local place = find(b, id, 1, 1)
if not place then
    b.last = b.last + 1
    append(b, id, NONE, b.last)
    setState(b, #b.states, 'x')
    trim(b, keep, keepFor)
elseif stateOf(b, place) ~= 'x' then
    archived[1] = int(seqOf(b, place))
    retire(b, place)
end
if b.changed then save(b, ARGV[2], ARGV[4], { read = {}, archived = archived }) end
redis.call('PEXPIRE', b.entries, ARGV[8])
return reply
