-- flags: allow-oom
-- The owner's record names this claim: nobody need ask again.
-- KEYS: shards, unfinished, claims
-- ARGV: now, channel, incarnation, intent, owner, number
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local thing = string.match(ARGV[4], ' (.+)$')
if redis.call('HGET', KEYS[3], thing) == ARGV[5] .. ' ' .. ARGV[6] then redis.call('SREM', KEYS[2], ARGV[4]) end
return { 'OK' }
