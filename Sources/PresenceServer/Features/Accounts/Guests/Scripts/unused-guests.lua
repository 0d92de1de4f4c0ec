-- flags: allow-oom
-- Returns some of a partition's guests that were not used for long enough. For the time of the lease, no other server gets
-- them.
-- keys: guests
-- args: keep ms for which an unused guest is kept, lease in ms, most
-- replies: OK(user …) | FENCED
local limit = now - tonumber(keep)
local users = redis.call('ZRANGEBYSCORE', guestsKey, '-inf', int(limit), 'LIMIT', 0, most)
for _, user in ipairs(users) do redis.call('ZADD', guestsKey, int(limit + tonumber(lease)), user) end
return { 'OK', unpack(users) }
