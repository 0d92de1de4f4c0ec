-- flags: allow-oom
-- Fences a dead incarnation: it may no longer write in this partition. Returns some of the users whose sessions it left.
-- keys: shards, shardUsers, fenced
-- args: incarnation, most so many
-- replies: OK(user …)
redis.call('SREM', shardsKey, incarnation) -- mutation: dead-may-write
-- Its own `join` may still be in flight. No connection retries a delivery for longer than this.
redis.call('SET', fencedKey, '1', 'PX', 1800000)
return { 'OK', unpack(redis.call('SRANDMEMBER', shardUsersKey, most)) }
