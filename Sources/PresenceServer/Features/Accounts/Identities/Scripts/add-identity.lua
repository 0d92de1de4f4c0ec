-- uses: account-lib
-- Gives the account the claimed identity, unless the wish is over. A guest is no guest any more.
-- keys: user, guests, mail
-- args: user, identity, number, provider, email that the provider names or -, text of a mail that tells of it or ''
-- replies: OK also if that was done before | OVER and the claim is to be given up | FENCED
for linked, claimed in eachIdentity(userKey) do
    if linked == identity and claimed == number then return { 'OK' } end
end
local wanted, wish, limit = string.match(redis.call('HGET', userKey, 'identityWanted') or '', '^(%x+) (%d+) (%d+)$')
if wanted ~= identity or wish ~= number then return { 'OVER' } end
if tonumber(limit) <= now then
    dropIdentityWish(userKey)
    return { 'OVER' }
end
putIdentity(userKey, identity, number, provider, email)
redis.call('HDEL', userKey, 'identityWanted', 'guest') -- mutation: identified-is-no-guest
redis.call('ZREM', guestsKey, user)
accountChanged(user, userKey)
notifyOwner(userKey, mailKey, 'linked', text)
return { 'OK' }
