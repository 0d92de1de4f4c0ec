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
if isLast then return { 'LAST' } end
giveUpIdentity(userKey, number, identity)
redis.call('HDEL', userKey, 'identities')
if #lines > 0 then redis.call('HSET', userKey, 'identities', table.concat(lines, '\n')) end
redis.call('SADD', unfinishedKey, intent)
accountChanged(user, userKey)
local address = redis.call('HGET', userKey, 'email')
if address then
    redis.call('RPUSH', mailKey, (string.gsub(notice, '\n%*\n', function() return '\n' .. address .. '\n' end, 1)))
end
return { 'OK' }
