-- Events that a partition has offered wait for a receiver from now on. Each entry of the partition's stream is taken once: the
-- newest is remembered, so a call may come twice, late, or from two servers.
--   state    url; p:PARTITION: the newest entry; bytes that wait; off: since when the receiver wants no events;
--            sent, failed, givenUp, dropped: numbers of events; failure: "AT REASON" of the last one; its clock (queue-lib)
--   due      sorted set: id of an event by the time of its next try; half a ms later if a server has it
--   bodies   hash: id -> "TRIES SUBJECT BODY"
-- keys: state, due, bodies
-- args: url, partition, newestEntry, most that wait, lost before, named is 1 if dropped events are replied, each(id, entry, at,
--       subject, body)
-- replies: OK(number of dropped events, ID, "TRIES SUBJECT BODY" of the first 1,000 if named) | FENCED
local function isAfter(a, b)
    local ms, number = string.match(a, '^(%d+)%-(%d+)$')
    local otherMS, otherNumber = string.match(b, '^(%d+)%-(%d+)$')
    ms, otherMS = tonumber(ms), tonumber(otherMS)
    return ms > otherMS or ms == otherMS and tonumber(number) > tonumber(otherNumber)
end
local field = 'p:' .. partition
local held = redis.call('HMGET', stateKey, field, 'off', 'bytes')
local newest, bytes, dropped = held[1] or '0-0', tonumber(held[3] or '0'), 0
if not isAfter(newestEntry, newest) then return { 'OK', '0' } end
-- A damaged key fails here, before anything is written: bodies without a time would stay for ever.
redis.call('ZCARD', dueKey)
dropped = tonumber(lost)
local reply = { 'OK', '0' }
for id, entry, at, subject, body in each() do
    if isAfter(entry, newest) then
        if held[2] then
            dropped = dropped + 1
        else
            local value = '0 ' .. subject .. ' ' .. body
            redis.call('HSET', bodiesKey, id, value)
            redis.call('ZADD', dueKey, int(math.min(now, tonumber(at))), id)
            bytes = bytes + #value
        end
    end
end
-- The user whose event it is: the sender of a message, otherwise its subject. (A text cannot pretend: its quotes are escaped.)
local function ownerOf(value)
    local subject, body = string.match(value or '', '^%d+ (%S+) (.*)$')
    return string.match(body or '', '^{"type":"message%..-"from":"([^"]*)"') or subject or ''
end
-- In a sample, the events of the user who has most of them and more than a share, those due last at the end; none without such a
-- user.
local function crowd()
    local sample, share = redis.call('ZRANDMEMBER', dueKey, 32, 'WITHSCORES'), 4
    local owned, largest = {}, {}
    for i = 1, #sample, 2 do
        if tonumber(sample[i + 1]) % 1 == 0 then
            local owner = ownerOf(redis.call('HGET', bodiesKey, sample[i]))
            local ids = owned[owner] or {}
            owned[owner] = ids
            ids[#ids + 1] = { sample[i], tonumber(sample[i + 1]) }
            if #ids > #largest then largest = ids end
        end
    end
    if #largest <= share then return {} end
    table.sort(largest, function(a, b) return a[2] < b[2] or a[2] == b[2] and a[1] < b[1] end)
    return largest
end
-- At the bound, events of the user with most of them are dropped, and of these, or where no user has many, those whose next try is
-- latest: they have failed most often. An event that a server has stays: the receiver may have it already.
most = tonumber(most)
local taken, count, crowded, samples, mostSamples = 0, redis.call('ZCARD', dueKey), {}, 0, 4
while count > taken and (count > most or bytes > most * 1024) do
    if #crowded == 0 and samples < mostSamples then
        crowded, samples = crowd(), samples + 1
        if #crowded == 0 then samples = mostSamples end
    end
    local id, time = unpack(table.remove(crowded) or redis.call('ZREVRANGE', dueKey, taken, taken, 'WITHSCORES'))
    if tonumber(time) % 1 ~= 0 then
        taken = taken + 1
    else
        local value = redis.call('HGET', bodiesKey, id) or ''
        bytes = bytes - #value
        -- A page of 16 events has at most 20 devices each.
        if named == '1' and #reply < 2002 then
            reply[#reply + 1] = id
            reply[#reply + 1] = value
        end
        redis.call('ZREM', dueKey, id)
        redis.call('HDEL', bodiesKey, id)
        count, dropped = count - 1, dropped + 1
    end
end
redis.call('HSET', stateKey, 'url', url, field, newestEntry, 'bytes', int(bytes))
if dropped > 0 then redis.call('HINCRBY', stateKey, 'dropped', dropped) end
reply[2] = int(dropped)
return reply
