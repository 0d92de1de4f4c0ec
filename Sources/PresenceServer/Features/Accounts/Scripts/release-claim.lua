-- flags: allow-oom
-- Gives back an address, if it is still claimed as said: the whole claim is compared, so that nothing newer goes with it.
-- KEYS: shards, email
-- ARGV: now, incarnation, claim
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[2]) then return { 'FENCED' } end
if redis.call('GET', KEYS[2]) == ARGV[3] then redis.call('DEL', KEYS[2]) end
return { 'OK' }
