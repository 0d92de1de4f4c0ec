-- flags: allow-oom
-- The owner's record names this claim: nobody need ask again.
-- KEYS: shards, unfinished, claim
-- ARGV: now, channel, incarnation, intent, owner, number
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if redis.call('GET', KEYS[3]) == ARGV[5] .. ' ' .. ARGV[6] then redis.call('SREM', KEYS[2], ARGV[4]) end
return { 'OK' }
