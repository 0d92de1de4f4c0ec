-- flags: allow-oom
-- uses: queue-lib
-- The outcomes of events: delivered; failed, to be tried again after WHEN ms; givenUp; unwanted, which switches the receiver off; again
-- if it was not tried, and is due at WHEN as before; later if it was not tried, and is due after WHEN ms.
-- keys: state, due, bodies
-- args: each(id, outcome, when, reason)
-- replies: OK | FENCED
local clock, counts, bytes = queueClock(stateKey), {}, 0
local function add(name) counts[name] = (counts[name] or 0) + 1 end
for id, outcome, when, reason in each() do
    local value = redis.call('HGET', bodiesKey, id)
    if value and (outcome == 'delivered' or outcome == 'givenUp') then
        redis.call('ZREM', dueKey, id)
        redis.call('HDEL', bodiesKey, id)
        bytes = bytes - #value
        add(outcome == 'delivered' and 'sent' or 'givenUp')
    elseif value then
        redis.call('ZADD', dueKey, int((outcome == 'again' and 0 or clock) + tonumber(when)), id)
        if outcome == 'failed' then
            local tries, rest = string.match(value, '^(%d+)(.*)$')
            redis.call('HSET', bodiesKey, id, int(tonumber(tries) + 1) .. rest)
            add('failed')
        end
    end
    if outcome == 'unwanted' then redis.call('HSET', stateKey, 'off', int(now)) end
    if reason ~= '' then redis.call('HSET', stateKey, 'failure', int(now) .. ' ' .. reason) end
end
for name, number in pairs(counts) do redis.call('HINCRBY', stateKey, name, number) end
if bytes ~= 0 then redis.call('HINCRBY', stateKey, 'bytes', bytes) end
return { 'OK' }
