-- flags: allow-oom
-- Whose a thing is that is still to be confirmed.
-- KEYS: shards, unfinished, claim
-- ARGV: now, channel, incarnation, intent
-- Replies {OK, owner, number}, {OK} if it is nobody's, {DAMAGED} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local value = redis.call('GET', KEYS[3])
if not value then
    redis.call('SREM', KEYS[2], ARGV[4])
    return { 'OK' }
end
local owner, number = string.match(value, '^(%S+) (%d+)$')
if not owner then return { 'DAMAGED' } end
return { 'OK', owner, number }
