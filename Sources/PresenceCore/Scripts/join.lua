-- flags: allow-oom
-- An incarnation may write in this partition from now on; no version at or below the floor is given any more. Those that its
-- shard had before may not: what they have still on their way would overwrite what this one says.
-- KEYS: shards, floor, fenced
-- ARGV: now, incarnation, floor, then those before
-- Replies {OK, the floor as it is then}, or {FENCED} if it was taken for dead before this arrived.
if redis.call('EXISTS', KEYS[3]) == 1 then return { 'FENCED' } end
redis.call('SADD', KEYS[1], ARGV[2])
for i = 4, #ARGV do redis.call('SREM', KEYS[1], ARGV[i]) end
local floor = tonumber(redis.call('GET', KEYS[2]) or '0')
if tonumber(ARGV[3]) <= floor then return { 'OK', int(floor) } end
redis.call('SET', KEYS[2], ARGV[3])
return { 'OK', ARGV[3] }
