-- flags: allow-oom
-- uses: claim-lib profile-lib account-lib asked-lib
-- Deletes an account with its profile and all other data of the user, and ends the user's sessions. Watchers receive "Z user 0
-- at".
-- keys: unfinished, user, sessions, grants, contacts, blocks, creations, emails any if that is in another partition, inbox,
--       history, notifications, notificationMarks, devices, pushed, held, mail, mailing, guests, directory, asked
-- args: user, compared hash that the password was compared with (hex) or '' for none, unused ms since the last use of a guest
--       or 'own' for any guest or '' for any account, nameIntent that gives up the username, leaveIntent
--       that takes them out of their conversations, emailIntent that gives up addresses in other partitions, erases 1 if
--       their messages are to be deleted too, identityIntent that gives up identities,
--       askingIntent that ends what they have asked and were asked
-- replies: OK(1 if there are such addresses, name of the picture or '', 1 if there are identities) | NONE | CHANGED | FENCED
local held = redis.call('HMGET', userKey, 'email', 'password', 'emailClaim', 'version', 'guest')
if unused ~= '' and not held[5] then redis.call('ZREM', guestsKey, user) end
if not held[4] then return { 'NONE' } end
local number = held[3] or '0'
if unused ~= '' then
    if not held[5] then return { 'CHANGED' } end
    if unused ~= 'own' then
        local isUsed = tonumber(held[5]) + tonumber(unused) > now
        -- A session may be older than the last use of its device's refresh token.
        if isUsed or redis.call('EXISTS', sessionsKey) == 1 then
            redis.call('ZADD', guestsKey, isUsed and held[5] or int(now), user)
            return { 'CHANGED' }
        end
    end
end
if compared ~= '' and held[2] ~= unhex(compared) then return { 'CHANGED' } end
dropMails(userKey, mailKey, mailingKey)
signOutOthers(user, grantsKey, '')
local at = int(math.max(now, tonumber(redis.call('HGET', userKey, 'revokedAt') or '0')))
local photo, ban = unpack(redis.call('HMGET', userKey, 'photo', 'ban'))
local record = recordOf(userKey)
-- The intent releases what the account, or its pending change of address, has claimed in other partitions. Until then only this
-- remains of the account.
local isHere = held[1] and redis.call('HGET', emailsKey, held[1]) == user .. ' ' .. number
dropChange(userKey)
if held[1] and not isHere then giveUp(userKey, number, held[1]) end
enlist(directoryKey, user, membersOf(redis.call('HGET', userKey, 'profile') or ''), {})
leaveAsked(askedKey, unfinishedKey, askingIntent) -- mutation: deleted-ask
dropIdentities(userKey, '', unfinishedKey, identityIntent)
local releasing, identities = unpack(redis.call('HMGET', userKey, 'emailReleasing', 'identityReleasing'))
redis.call('DEL', userKey, sessionsKey, grantsKey, contactsKey, blocksKey, creationsKey, historyKey, notificationsKey,
    notificationMarksKey, devicesKey, pushedKey)
if #record > 0 then redis.call('HSET', userKey, unpack(record)) end
redis.call('ZREM', heldKey, user)
abandon(userKey, unfinishedKey, nameIntent) -- mutation: abandons-the-name
redis.call('ZREM', guestsKey, user)
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
if identities then
    redis.call('HSET', userKey, 'identityReleasing', identities) -- mutation: deletion-gives-up-identities
    redis.call('SADD', unfinishedKey, identityIntent)
end
if redis.call('EXISTS', inboxKey) == 1 then
    if erases == '1' then redis.call('HSET', inboxKey, ' erase', '1') end
    redis.call('SADD', unfinishedKey, leaveIntent)
end
redis.call('PUBLISH', channel, table.concat({ 'R', user, '0', at }, ' '))
redis.call('PUBLISH', channel, table.concat({ 'Z', user, '0', int(now) }, ' '))
offer('account.deleted', user)
return { 'OK', releasing and '1' or '0', photo or '', identities and '1' or '0' }
