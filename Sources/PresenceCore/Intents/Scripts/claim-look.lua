-- flags: allow-oom
-- The owner of a thing whose claim is still to be confirmed.
-- keys: unfinished, claims
-- args: intent, thing
-- replies: HELD(owner, number) | NONE if it is nobody's | DAMAGED | FENCED
local value = redis.call('HGET', claimsKey, thing)
if not value then
    redis.call('SREM', unfinishedKey, intent)
    return { 'NONE' }
end
local owner, number = string.match(value, '^(%S+) (%d+)$')
if not owner then return { 'DAMAGED' } end
return { 'HELD', owner, number }
