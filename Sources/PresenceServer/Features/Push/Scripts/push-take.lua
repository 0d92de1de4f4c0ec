-- flags: allow-oom
-- Notes of a partition that are due, for one server: no other gets them until the lease ends.
-- keys: push
-- args: most notes, lease in ms, longest time in ms until a decision
-- replies: OK(ms until the next is due or '', until when no other gets these, "USER CONVERSATION" of each) | FENCED
lease = tonumber(lease)
-- Redis' clock went back: a note that is further ahead is due.
local ahead = '(' .. int(now + tonumber(longest))
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', pushKey, ahead, '+inf', 'LIMIT', 0, most)) do
    redis.call('ZADD', pushKey, int(now), entry)
end
local reply = { 'OK', '', int(now + lease) }
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', pushKey, '-inf', int(now), 'LIMIT', 0, most)) do
    redis.call('ZADD', pushKey, int(now + lease), entry) -- mutation: taken-is-leased
    reply[#reply + 1] = entry
end
local first = redis.call('ZRANGE', pushKey, 0, 0, 'WITHSCORES')
if first[2] then reply[2] = int(math.max(0, tonumber(first[2]) - now)) end
return reply
