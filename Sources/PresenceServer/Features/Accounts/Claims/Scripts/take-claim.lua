-- Claims an address or an identity for an account. This script alone decides which account was first.
-- keys: claims
-- args: user, number, name of the address or identity
-- replies: OK | TAKEN(claim) | FENCED
local claim = redis.call('HGET', claimsKey, name)
if claim then
    local owner, held = string.match(claim, '^(%S+) (%d+)$')
    if owner ~= user then return { 'TAKEN', claim } end -- mutation: address-is-anothers
    if tonumber(held) > tonumber(number) then return { 'OK' } end
end
redis.call('HSET', claimsKey, name, user .. ' ' .. number)
return { 'OK' }
