-- flags: allow-oom
-- uses: queue-lib
-- Events that an earlier server has taken: of these ids, or without any all that had a lease when a server last used the queue. That
-- server may send them until their leases end; no later event of their subjects may be sent before. When a lease has ended, its
-- event is due before all others: later ones of its subject may have been due earlier.
-- keys: state, due, bodies
-- args: lease in ms, rows to look at, each(id)
-- replies: OK(ID, SUBJECT of each whose lease has not ended) | FENCED
local seen, ids, reply = tonumber(redis.call('HGET', stateKey, 'seen') or '0'), {}, { 'OK' }
local clock = queueClock(stateKey)
for id in each() do ids[#ids + 1] = id end
if #ids == 0 then
    -- A server may have died before it looked for leases that had just ended.
    ids = redis.call('ZRANGEBYSCORE', dueKey, int(seen - 2000), int(seen + tonumber(lease) + 1), 'LIMIT', 0, rows)
end
for _, id in ipairs(ids) do
    local due = tonumber(redis.call('ZSCORE', dueKey, id) or '0')
    if due % 1 ~= 0 then
        local subject = string.match(redis.call('HGET', bodiesKey, id) or '', '^%d+ (%S+)')
        if due <= clock or not subject then
            redis.call('ZADD', dueKey, 0, id)
        else
            reply[#reply + 1] = id
            reply[#reply + 1] = subject
        end
    end
end
return reply
