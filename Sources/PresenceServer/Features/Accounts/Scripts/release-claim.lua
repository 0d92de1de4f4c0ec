-- flags: allow-oom
-- Releases an address if its whole claim is unchanged, so that no newer claim is lost.
-- keys: emails
-- args: claim, address
-- replies: OK | FENCED
if redis.call('HGET', emailsKey, address) == claim then redis.call('HDEL', emailsKey, address) end
return { 'OK' }
