-- flags: allow-oom
-- uses: claim-lib account-lib
-- Deletes an account with its profile and all other data of the user, and ends the user's sessions. Watchers receive "Z user 0
-- at".
-- keys: unfinished, user, sessions, grants, contacts, blocks, creations, emails any if that is in another partition, inbox,
--       history, notifications, notificationMarks, devices, pushed, mail, mailing
-- args: user, compared hash that the password was compared with (hex) or '' for a backend, nameIntent that gives up the username,
--       leaveIntent that takes them out of their conversations, emailIntent that gives up addresses in other partitions
-- replies: OK(1 if there are such addresses, name of the picture or '') | NONE | CHANGED | FENCED
local held = redis.call('HMGET', userKey, 'email', 'password', 'emailClaim')
if not held[1] then return { 'NONE' } end
local number = held[3] or '0'
if compared ~= '' and held[2] ~= unhex(compared) then return { 'CHANGED' } end
dropMails(userKey, mailKey, mailingKey)
signOutOthers(user, grantsKey, '')
local at = int(math.max(now, tonumber(redis.call('HGET', userKey, 'revokedAt') or '0')))
local photo, ban = unpack(redis.call('HMGET', userKey, 'photo', 'ban'))
local record = recordOf(userKey)
-- The intent releases what the account, or its pending change of address, has claimed in other partitions. Until then only this
-- remains of the account.
local isHere = redis.call('HGET', emailsKey, held[1]) == user .. ' ' .. number
dropChange(userKey)
if not isHere then giveUp(userKey, number, held[1]) end
local releasing = redis.call('HGET', userKey, 'emailReleasing')
redis.call('DEL', userKey, sessionsKey, grantsKey, contactsKey, blocksKey, creationsKey, historyKey, notificationsKey,
    notificationMarksKey, devicesKey, pushedKey)
if #record > 0 then redis.call('HSET', userKey, unpack(record)) end
abandon(userKey, unfinishedKey, nameIntent) -- mutation: abandons-the-name
-- An app's own tokens for this user from before must no longer work. Conversations that are about to add the user check
-- `deletedAt` (enroll.lua).
redis.call('HSET', userKey, 'revokedAt', at, 'deletedAt', int(now))
-- A ban stays with the id.
if ban then redis.call('HSET', userKey, 'ban', ban) end
if isHere then redis.call('HDEL', emailsKey, held[1]) end
if releasing then
    redis.call('HSET', userKey, 'emailReleasing', releasing)
    redis.call('SADD', unfinishedKey, emailIntent)
end
if redis.call('EXISTS', inboxKey) == 1 then redis.call('SADD', unfinishedKey, leaveIntent) end
redis.call('PUBLISH', channel, table.concat({ 'R', user, '0', at }, ' '))
redis.call('PUBLISH', channel, table.concat({ 'Z', user, '0', int(now) }, ' '))
offer('account.deleted', user)
return { 'OK', releasing and '1' or '0', photo or '' }
