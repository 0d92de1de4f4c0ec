-- flags: allow-oom
-- Gives a claim up: this one and no other, so it may come late, and more than once.
-- KEYS: shards, unfinished, claims
-- ARGV: now, channel, incarnation, intent, owner, number
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local thing = string.match(ARGV[4], ' (.+)$')
if redis.call('HGET', KEYS[3], thing) == ARGV[5] .. ' ' .. ARGV[6] then
    redis.call('HDEL', KEYS[3], thing)
    redis.call('SREM', KEYS[2], ARGV[4])
end
return { 'OK' }
