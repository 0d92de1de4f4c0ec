-- flags: allow-oom
-- Allows an incarnation to write in this partition and raises the floor: no later version is at or below it. Earlier
-- incarnations of the same shard are fenced, because their delayed writes would overwrite those of this one.
-- keys: shards, floor, fenced
-- args: incarnation, least floor, each(former incarnation of its shard)
-- replies: OK(the floor as it is then) | DEAD if it was taken for dead before this arrived
if redis.call('EXISTS', fencedKey) == 1 then return { 'DEAD' } end
redis.call('SADD', shardsKey, incarnation)
for former in each() do redis.call('SREM', shardsKey, former) end -- mutation: former-may-write
local floor = tonumber(redis.call('GET', floorKey) or '0')
if tonumber(least) <= floor then return { 'OK', int(floor) } end
redis.call('SET', floorKey, least)
return { 'OK', least }
