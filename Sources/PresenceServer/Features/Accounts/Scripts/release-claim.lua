-- flags: allow-oom
-- Gives back an address, if it is still claimed as said: the whole claim is compared, so that nothing newer goes with it.
-- KEYS: shards, unfinished, email
-- ARGV: now, channel, incarnation, intent or '', claim
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if redis.call('GET', KEYS[3]) == ARGV[5] then redis.call('DEL', KEYS[3]) end
return { 'OK' }
