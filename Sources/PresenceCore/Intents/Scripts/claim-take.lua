-- Takes a thing for a wish: the only judge of a race.
-- KEYS: shards, unfinished, claims
-- ARGV: now, channel, incarnation, intent, owner, number
-- Replies {OK}, {HELD, other owner, number}, {DAMAGED} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local thing = string.match(ARGV[4], ' (.+)$')
local value = redis.call('HGET', KEYS[3], thing)
if value then
    local owner, number = string.match(value, '^(%S+) (%d+)$')
    if not owner then return { 'DAMAGED' } end
    if owner ~= ARGV[5] then return { 'HELD', owner, number } end
    if tonumber(number) >= tonumber(ARGV[6]) then return { 'OK' } end
end
redis.call('HSET', KEYS[3], thing, ARGV[5] .. ' ' .. ARGV[6])
-- Listed until the owner's record is known to name it: the executor may be late, for a wish that is over.
redis.call('SADD', KEYS[2], ARGV[4])
return { 'OK' }
