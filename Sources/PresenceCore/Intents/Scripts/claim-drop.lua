-- flags: allow-oom
-- Drops exactly this claim, so it may arrive late and more than once.
-- keys: unfinished, claims
-- args: intent, thing, owner, number
-- replies: OK | FENCED
if redis.call('HGET', claimsKey, thing) == owner .. ' ' .. number then -- mutation: claim-is-meant
    redis.call('HDEL', claimsKey, thing)
    redis.call('SREM', unfinishedKey, intent)
end
return { 'OK' }
