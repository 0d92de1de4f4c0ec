-- flags: allow-oom
-- Pending pushes of a partition that are due, and users whose held pushes are, for one server: no other gets them until the lease ends.
-- keys: push, held
-- args: most pushes, lease in ms, longest time in ms until a decision, longestHeld time in ms until one about held pushes
-- replies: OK(ms until the next is due or '', until when no other gets these, "USER CONVERSATION" of each, "USER ~" for held pushes) |
--       FENCED
lease = tonumber(lease)
local reply, first = { 'OK', '', int(now + lease) }, nil
local function take(key, most, longest, rest)
    -- Redis' clock went back: what is further ahead is due.
    local ahead = '(' .. int(now + tonumber(longest))
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', key, ahead, '+inf', 'LIMIT', 0, most)) do
        redis.call('ZADD', key, int(now), entry)
    end
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', int(now), 'LIMIT', 0, most)) do
        redis.call('ZADD', key, int(now + lease), entry) -- mutation: taken-is-leased
        reply[#reply + 1] = entry .. rest
    end
    local next = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or '')
    if next and (not first or next < first) then first = next end
end
take(pushKey, most, longest, '')
take(heldKey, most, longestHeld, ' ~') -- mutation: held-is-taken
if first then reply[2] = int(math.max(0, first - now)) end
return reply
