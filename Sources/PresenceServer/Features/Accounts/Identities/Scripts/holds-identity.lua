-- uses: account-lib
-- Whether an account has an identity under this number, or is about to. If not, the claim is void: numbers only grow, so it can
-- never become valid again. An expired wish is ended here, and its intent releases the claim.
-- keys: user
-- args: identity, number
-- replies: HELD | STALE | FENCED
for linked, claimed in eachIdentity(userKey) do
    if linked == identity and claimed == number then return { 'HELD' } end
end
local wanted, wish, limit = string.match(redis.call('HGET', userKey, 'identityWanted') or '', '^(%x+) (%d+) (%d+)$')
if wanted == identity and wish == number then
    if tonumber(limit) > now then return { 'HELD' } end
    dropIdentityWish(userKey)
end
return { 'STALE' }
