-- Shared by the scripts of queues.

-- The clock by which a queue's events are due: Redis', but it never goes back. So nothing waits longer when Redis' clock steps back.
--   state   seen: the latest reading; ahead: by how much it is ahead of Redis'
local function queueClock(state)
    local held = redis.call('HMGET', state, 'seen', 'ahead')
    local clock = math.max(tonumber(held[1] or '0'), now + tonumber(held[2] or '0'))
    redis.call('HSET', state, 'seen', int(clock), 'ahead', int(clock - now))
    return clock
end
