-- flags: allow-oom
-- Gives a claim up: this one and no other, so it may come late, and more than once.
-- KEYS: shards, unfinished, claim
-- ARGV: now, channel, incarnation, intent, owner, number
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if redis.call('GET', KEYS[3]) == ARGV[5] .. ' ' .. ARGV[6] then
    redis.call('DEL', KEYS[3])
    redis.call('SREM', KEYS[2], ARGV[4])
end
return { 'OK' }
