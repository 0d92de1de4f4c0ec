-- flags: allow-oom
-- uses: queue-lib
-- Events of a receiver that are due, for one server: no other gets them until the lease ends.
-- keys: state, due, bodies
-- args: most events, mostBytes, lease in ms
-- replies: OK(waiting, ms until the next is due or '', then ID, DUE, "TRIES SUBJECT BODY" of each) | OFF(waiting) | FENCED
local reply = { 'OK', int(redis.call('ZCARD', dueKey)), '' }
if redis.call('HEXISTS', stateKey, 'off') == 1 then return { 'OFF', reply[2] } end
local clock, bytes = queueClock(stateKey), 0
local ready = redis.call('ZRANGEBYSCORE', dueKey, '-inf', int(clock), 'WITHSCORES', 'LIMIT', 0, most)
for i = 1, #ready, 2 do
    local id = ready[i]
    local value = redis.call('HGET', bodiesKey, id)
    if not value then
        redis.call('ZREM', dueKey, id)
    else
        bytes = bytes + #value
        if bytes > tonumber(mostBytes) and #reply > 3 then break end
        -- The half shows that a server has it (queue-add).
        redis.call('ZADD', dueKey, int(clock + tonumber(lease)) .. '.5', id)
        reply[#reply + 1] = id
        reply[#reply + 1] = int(tonumber(ready[i + 1]))
        reply[#reply + 1] = value
    end
end
local first = redis.call('ZRANGE', dueKey, 0, 0, 'WITHSCORES')
if first[2] then reply[3] = int(math.max(0, math.ceil(tonumber(first[2])) - clock)) end
return reply
