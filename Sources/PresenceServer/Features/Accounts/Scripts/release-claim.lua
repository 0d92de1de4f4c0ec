-- flags: allow-oom
-- Gives back an address, if it is still claimed as said: the whole claim is compared, so that nothing newer goes with it.
-- keys: emails
-- args: claim, address
-- replies: OK | FENCED
if redis.call('HGET', emailsKey, address) == claim then redis.call('HDEL', emailsKey, address) end
return { 'OK' }
