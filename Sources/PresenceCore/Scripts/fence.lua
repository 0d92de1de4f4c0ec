-- flags: allow-oom
-- A dead incarnation may no longer write in this partition. Replies some of the users whose sessions it left.
-- keys: shards, shardUsers, fenced
-- args: incarnation, most so many
-- replies: OK(user …)
redis.call('SREM', shardsKey, incarnation) -- mutation: dead-may-write
-- Its own `join` may still be on its way: longer than this no connection tries to deliver anything.
redis.call('SET', fencedKey, '1', 'PX', 1800000)
return { 'OK', unpack(redis.call('SRANDMEMBER', shardUsersKey, most)) }
