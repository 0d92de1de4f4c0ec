-- flags: allow-oom
-- Releases an address or an identity if its whole claim is unchanged, so that no newer claim is lost.
-- keys: claims
-- args: claim, name of the address or identity
-- replies: OK | FENCED
if redis.call('HGET', claimsKey, name) == claim then redis.call('HDEL', claimsKey, name) end
return { 'OK' }
