-- Claims a thing for a wish. This alone decides between competing claims.
-- keys: unfinished, claims
-- args: intent, thing, owner, number
-- replies: OK | HELD(other owner, number) | DAMAGED | FENCED
local value = redis.call('HGET', claimsKey, thing)
if value then
    local holder, held = string.match(value, '^(%S+) (%d+)$')
    if not holder then return { 'DAMAGED' } end
    if holder ~= owner then return { 'HELD', holder, held } end
    if tonumber(held) >= tonumber(number) then return { 'OK' } end -- mutation: later-claim-stays
end
redis.call('HSET', claimsKey, thing, owner .. ' ' .. number)
-- Listed until the owner's record is known to name it: the executor may be late, and the wish already closed.
redis.call('SADD', unfinishedKey, intent) -- mutation: late-claim-is-listed
return { 'OK' }
