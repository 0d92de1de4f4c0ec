-- flags: allow-oom
-- A dead incarnation may no longer write in this partition. Replies some of the users whose sessions it left.
-- KEYS: shards, shard's users
-- ARGV: now, incarnation, at most so many
redis.call('SREM', KEYS[1], ARGV[2])
return redis.call('SRANDMEMBER', KEYS[2], ARGV[3])
