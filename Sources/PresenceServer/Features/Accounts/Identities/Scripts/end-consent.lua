-- uses: account-lib
-- Takes an identity away because the person has ended it at its provider, unless it was linked afterwards. The account
-- stays. One that would have no way in left, neither an address nor another identity, keeps it: a later consent opens it again.
-- keys: unfinished, user, mail
-- args: intent, user, identity, before time of the provider's notice, notice text of a mail about it
-- replies: OK | NONE if there is nothing to take away | LAST | FENCED
local lines, number, isLast = {}, nil, redis.call('HEXISTS', userKey, 'email') == 0
for linked, claimed, name, at, email in eachIdentity(userKey) do
    if linked == identity and tonumber(at) <= tonumber(before) then -- mutation: notice-is-older
        number = claimed
    else
        lines[#lines + 1] = table.concat({ linked, claimed, name, at, email }, ' ')
        isLast = false
    end
end
if not number then return { 'NONE' } end
-- A notice counts once: sent again, it would end a later consent. One identity can be the last one, so one field suffices.
local ended, time = string.match(redis.call('HGET', userKey, 'consentEnded') or '', '^(%x+) (%d+)$')
if ended == identity and tonumber(before) <= tonumber(time) then return { 'NONE' } end
if isLast then
    redis.call('HSET', userKey, 'consentEnded', identity .. ' ' .. before)
    return { 'LAST' }
end
giveUpIdentity(userKey, number, identity)
redis.call('HDEL', userKey, 'identities')
if #lines > 0 then redis.call('HSET', userKey, 'identities', table.concat(lines, '\n')) end
redis.call('SADD', unfinishedKey, intent)
accountChanged(user, userKey)
notifyOwner(userKey, mailKey, 'unlinked', notice)
return { 'OK' }
