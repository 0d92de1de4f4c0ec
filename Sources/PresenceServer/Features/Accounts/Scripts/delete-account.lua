-- flags: allow-oom
-- uses: claim-lib account-lib
-- Deletes an account, with its profile and all else that is known of the user, and ends their sessions. Who watches hears
-- "Z user 0 at".
-- KEYS: shards, user, sessions, account, grants, contacts, blocks, creations, emails (any, if that is in another partition),
--       unfinished, username's record, floor, inbox, history, notifications, notificationMarks,
--       devices, pushed, mail, mailing
-- ARGV: now, channel, incarnation, user, the hash that the password was compared with (hex; '' for a backend), intent by
--       which the username is given up, intent by which they leave their conversations, intent by which addresses in other
--       partitions are given up
-- Replies {OK, 1 if there are such addresses, name of the picture or ''}, {FENCED}, {NONE} or {CHANGED}.
local channel, user = ARGV[2], ARGV[4]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local held = redis.call('HMGET', KEYS[4], 'email', 'password', 'emailClaim')
if not held[1] then return { 'NONE' } end
local number = held[3] or '0'
if ARGV[5] ~= '' and held[2] ~= unhex(ARGV[5]) then return { 'CHANGED' } end
dropMails(KEYS[4], KEYS[19], KEYS[20])
signOutOthers(channel, user, KEYS[5], '')
local at = int(math.max(now, tonumber(redis.call('HGET', KEYS[2], 'revokedAt') or '0')))
local photo = redis.call('HGET', KEYS[2], 'photo') or ''
local record = recordOf(KEYS[11])
-- What is claimed elsewhere, by the account or by a change of its address that is under way, is given up by the intent. Until
-- then that is all that is left of the account.
local isHere = redis.call('HGET', KEYS[9], held[1]) == user .. ' ' .. number
dropChange(KEYS[4])
if not isHere then giveUp(KEYS[4], number, held[1]) end
local releasing = redis.call('HGET', KEYS[4], 'emailReleasing')
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[14], KEYS[15], KEYS[16],
    KEYS[17], KEYS[18])
if #record > 0 then redis.call('HSET', KEYS[11], unpack(record)) end
abandon(KEYS[11], KEYS[10], ARGV[6], KEYS[12])
-- Tokens of the app's own for this user, from before, must open nothing that would look like them. Conversations that are about
-- to have them as a member ask whether they were deleted (enroll.lua).
redis.call('HSET', KEYS[2], 'revokedAt', at, 'deletedAt', int(now))
if isHere then redis.call('HDEL', KEYS[9], held[1]) end
if releasing then
    redis.call('HSET', KEYS[4], 'emailReleasing', releasing)
    redis.call('SADD', KEYS[10], ARGV[8])
end
if redis.call('EXISTS', KEYS[13]) == 1 then redis.call('SADD', KEYS[10], ARGV[7]) end
redis.call('PUBLISH', channel, table.concat({ 'R', user, '0', at }, ' '))
redis.call('PUBLISH', channel, table.concat({ 'Z', user, '0', int(now) }, ' '))
offer('account.deleted', user)
return { 'OK', releasing and '1' or '0', photo }
