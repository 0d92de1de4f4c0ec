-- flags: allow-oom
-- Gives back an address, if it is still claimed as said: the whole claim is compared, so that nothing newer goes with it.
-- KEYS: shards, unfinished, emails
-- ARGV: now, channel, incarnation, intent or '', claim, address
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if redis.call('HGET', KEYS[3], ARGV[6]) == ARGV[5] then redis.call('HDEL', KEYS[3], ARGV[6]) end
return { 'OK' }
