-- flags: allow-oom
-- The owner's record names this claim: it need not be confirmed again.
-- keys: unfinished, claims
-- args: intent, thing, owner, number
-- replies: OK | FENCED
if redis.call('HGET', claimsKey, thing) == owner .. ' ' .. number then redis.call('SREM', unfinishedKey, intent) end
return { 'OK' }
