-- Events that a partition has offered wait for an endpoint from now on. Each entry of the partition's stream is taken once: the
-- newest is remembered, so this may come twice, late, or from two servers.
--   state    url; p:PARTITION: the newest entry; bytes that wait; off: since when the receiver wants nothing any more;
--            sent, failed, givenUp, dropped: how many; failure: "AT REASON" of the last one; its clock (webhook-lib)
--   due      sorted set: id of an event by when it is tried; half a ms later of one that a sender has
--   bodies   hash: id -> "TRIES SUBJECT BODY"
-- KEYS: shards, state, due, bodies
-- ARGV: now, channel, incarnation, url, partition, newest entry, most that wait, lost before, 1 if somebody has to know what was
--       dropped, then ID ENTRY AT SUBJECT BODY of each
-- Replies {OK, how many were dropped, ID, "TRIES SUBJECT BODY", ...} (of the first 100, if asked for) or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local function isAfter(a, b)
    local ms, number = string.match(a, '^(%d+)%-(%d+)$')
    local otherMS, otherNumber = string.match(b, '^(%d+)%-(%d+)$')
    ms, otherMS = tonumber(ms), tonumber(otherMS)
    return ms > otherMS or ms == otherMS and tonumber(number) > tonumber(otherNumber)
end
local field = 'p:' .. ARGV[5]
local held = redis.call('HMGET', KEYS[2], field, 'off', 'bytes')
local newest, bytes, dropped = held[1] or '0-0', tonumber(held[3] or '0'), 0
if not isAfter(ARGV[6], newest) then return { 'OK', '0' } end
-- One that is damaged fails here, before anything is written: bodies without a time would stay for ever.
redis.call('ZCARD', KEYS[3])
dropped = tonumber(ARGV[8])
local reply = { 'OK', '0' }
for i = 10, #ARGV, 5 do
    if isAfter(ARGV[i + 1], newest) then
        if held[2] then
            dropped = dropped + 1
        else
            local value = '0 ' .. ARGV[i + 3] .. ' ' .. ARGV[i + 4]
            redis.call('HSET', KEYS[4], ARGV[i], value)
            redis.call('ZADD', KEYS[3], int(math.min(now, tonumber(ARGV[i + 2]))), ARGV[i])
            bytes = bytes + #value
        end
    end
end
-- Whose event it is: who wrote the message, otherwise whom it is about. (A text cannot pretend: its quotes are escaped.)
local function ownerOf(value)
    local subject, body = string.match(value or '', '^%d+ (%S+) (.*)$')
    return string.match(body or '', '^{"type":"message%..-"from":"([^"]*)"') or subject or ''
end
-- Of a sample, the events of the user who has most of them and more than a share, the furthest away last; none if nobody has.
local function crowd()
    local sample, share = redis.call('ZRANDMEMBER', KEYS[3], 32, 'WITHSCORES'), 4
    local owned, most = {}, {}
    for i = 1, #sample, 2 do
        if tonumber(sample[i + 1]) % 1 == 0 then
            local owner = ownerOf(redis.call('HGET', KEYS[4], sample[i]))
            local ids = owned[owner] or {}
            owned[owner] = ids
            ids[#ids + 1] = { sample[i], tonumber(sample[i + 1]) }
            if #ids > #most then most = ids end
        end
    end
    if #most <= share then return {} end
    table.sort(most, function(a, b) return a[2] < b[2] or a[2] == b[2] and a[1] < b[1] end)
    return most
end
-- Of too many, those of the user go who has most of them, and of these, or where nobody has many, those whose next try is
-- furthest away: they have failed most often. What a sender has stays: it may be with the receiver already.
local most, taken = tonumber(ARGV[7]), 0
local count, crowded, samples, mostSamples = redis.call('ZCARD', KEYS[3]), {}, 0, 4
while count > taken and (count > most or bytes > most * 1024) do
    if #crowded == 0 and samples < mostSamples then
        crowded, samples = crowd(), samples + 1
        if #crowded == 0 then samples = mostSamples end
    end
    local id, time = unpack(table.remove(crowded) or redis.call('ZREVRANGE', KEYS[3], taken, taken, 'WITHSCORES'))
    if tonumber(time) % 1 ~= 0 then
        taken = taken + 1
    else
        local value = redis.call('HGET', KEYS[4], id) or ''
        bytes = bytes - #value
        if ARGV[9] == '1' and #reply < 202 then
            reply[#reply + 1] = id
            reply[#reply + 1] = value
        end
        redis.call('ZREM', KEYS[3], id)
        redis.call('HDEL', KEYS[4], id)
        count, dropped = count - 1, dropped + 1
    end
end
redis.call('HSET', KEYS[2], 'url', ARGV[4], field, ARGV[6], 'bytes', int(bytes))
if dropped > 0 then redis.call('HINCRBY', KEYS[2], 'dropped', dropped) end
reply[2] = int(dropped)
return reply
