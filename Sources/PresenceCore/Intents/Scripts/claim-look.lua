-- flags: allow-oom
-- Whose a thing is that is still to be confirmed.
-- KEYS: shards, unfinished, claims
-- ARGV: now, channel, incarnation, intent
-- Replies {OK, owner, number}, {OK} if it is nobody's, {DAMAGED} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local thing = string.match(ARGV[4], ' (.+)$')
local value = redis.call('HGET', KEYS[3], thing)
if not value then
    redis.call('SREM', KEYS[2], ARGV[4])
    return { 'OK' }
end
local owner, number = string.match(value, '^(%S+) (%d+)$')
if not owner then return { 'DAMAGED' } end
return { 'OK', owner, number }
