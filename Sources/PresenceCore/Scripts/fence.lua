-- flags: allow-oom
-- A dead incarnation may no longer write in this partition. Replies some of the users whose sessions it left.
-- KEYS: shards, shard's users, fenced
-- ARGV: now, incarnation, at most so many
redis.call('SREM', KEYS[1], ARGV[2])
-- Its own `join` may still be on its way: longer than this no connection tries to deliver anything.
redis.call('SET', KEYS[3], '1', 'PX', 1800000)
return redis.call('SRANDMEMBER', KEYS[2], ARGV[3])
