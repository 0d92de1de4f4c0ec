-- Claims an address for an account. This script alone decides which account was first.
-- keys: emails
-- args: user, number, address
-- replies: OK | TAKEN(claim) | FENCED
local claim = redis.call('HGET', emailsKey, address)
if claim then
    local owner, held = string.match(claim, '^(%S+) (%d+)$')
    if owner ~= user then return { 'TAKEN', claim } end -- mutation: address-is-anothers
    if tonumber(held) > tonumber(number) then return { 'OK' } end
end
redis.call('HSET', emailsKey, address, user .. ' ' .. number)
return { 'OK' }
