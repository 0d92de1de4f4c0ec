-- Included at the start of every script. ARGV[1] is the time in ms, or 0 for Redis' own clock; tests pass invented times.

-- Redis' time advances while a script runs, so it is read once.
local function clock()
    local given = tonumber(ARGV[1])
    if given ~= 0 then return given end
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
local now = clock()

-- The first keys and arguments of each script whose header has FENCED among its replies.
local shardsKey, floorKey, channel, incarnation = KEYS[1], KEYS[2], ARGV[2], ARGV[3]

-- Lua's own conversion turns large integers into 1.7e+12. ('%.0f' gives the same result at five times the cost.)
local function int(number) return string.format('%d', number) end

-- Servers that log requests (level debug) pass the name of the request as the last key. Each event is then preceded by
-- "@ - 0 TIME NAME", so that all servers can attribute the change. It is not a real key and is removed before the
-- script runs.
local redis = redis
local request = string.match(KEYS[#KEYS] or '', '^[^{]*{p%d+}:request:(.+)$')
if request then
    table.remove(KEYS)
    local plain = redis
    redis = setmetatable({ call = function(command, ...)
        if command == 'PUBLISH' then plain.call('PUBLISH', (...), '@ - 0 ' .. int(now) .. ' ' .. request) end
        return plain.call(command, ...)
    end }, { __index = plain })
end

-- A ban is the field `ban` of its user, or `b:USER` of a conversation: "UNTIL REASON", where REASON is an encoded JSON string
-- without spaces. Returns the reply for a user whose ban is not over; else nil.
local function banned(field)
    local limit, reason = string.match(field or '', '^(%d+) (.+)$')
    if limit and tonumber(limit) > now then return { 'BANNED', limit, reason } end -- mutation: ban-ends
end

-- A change made with a token carries two more keys, before the one of offers: the key to check the token against, and
-- "{p017}:writer:g:GRANT" or "{p017}:writer:t:ISSUED" (not a real key). If the token was revoked or the account deleted
-- after the request was admitted, the script changes nothing and returns REVOKED; if the user was banned, BANNED. Changes
-- by backends and by the server itself carry no such keys. A ban ends all sessions; a call over HTTP has none, so with a
-- grant it carries the user's key too: before that of the grants, and "{p017}:writer:h:GRANT".
-- A script that reads the user anyway (`read`) gets "{p017}:writer:u:ISSUED" alone and returns REVOKED if `user.isRevoked`.
-- For requests on a connection, " SESSION" is appended, and the user's sessions key comes before it. If the session has
-- ended or was replaced, the script changes nothing and returns ENDED, however late the request arrives.
local issuedAt
local function refusal()
    local place = #KEYS
    if string.find(KEYS[place] or '', '^[^{]*{p%d+}:offers$') then place = place - 1 end
    local kind, word, session = string.match(KEYS[place] or '', '^[^{]*{p%d+}:writer:(%a):(%S+) ?(%S*)$')
    if not kind then return nil end
    table.remove(KEYS, place)
    place = place - 1
    local sessionsKey = session ~= '' and table.remove(KEYS, place)
    if sessionsKey then place = place - 1 end
    if kind == 'u' then
        issuedAt = tonumber(word)
    else
        local key = table.remove(KEYS, place)
        if kind == 't' then
            local held = redis.call('HMGET', key, 'revokedAt', 'ban')
            if tonumber(word) < tonumber(held[1] or '0') then return { 'REVOKED' } end
            local ban = banned(held[2])
            if ban then return ban end
        else
            local userKey = kind == 'h' and table.remove(KEYS, place - 1)
            if redis.call('HEXISTS', key, word) == 0 then return { 'REVOKED' } end
            local ban = userKey and banned(redis.call('HGET', userKey, 'ban'))
            if ban then return ban end
        end
    end
    if sessionsKey and redis.call('HEXISTS', sessionsKey, session) == 0 then return { 'ENDED' } end
end
local refused = refusal()
if refused then return refused end -- mutation: refused-writes

-- Versions only grow: the new one is above the last one and the partition's floor, and not behind the clock.
local function nextVersion(last, floorKey)
    local floor = tonumber(redis.call('GET', floorKey) or '0')
    return math.max(tonumber(last or '0'), floor, now - 1) + 1 -- mutation: floor
end

-- True unless the incarnation is in the partition's set; only those may write.
local function fenced(shardsKey, incarnation)
    return redis.call('SISMEMBER', shardsKey, incarnation) == 0 -- mutation: fenced-may-write
end

-- Publishes a change of a user or conversation to watchers: "KIND id version at rest". A channel that ends in a colon
-- is a prefix: each user and conversation has its own channel (`redis.interests`). Events that all shards need are
-- published on `channel` itself.
local function publish(channel, kind, id, ...)
    if string.byte(channel, -1) == 58 then channel = channel .. id end
    redis.call('PUBLISH', channel, table.concat({ kind, id, ... }, ' '))
end

-- For an entry of the stream of offers: the total of bytes up to and including it since the stream was last empty (0 if
-- missing), its own bytes, and how many bytes of the total belong to long entries.
local function offered(entry)
    local sum, own, long, fields = 0, 0, 0, entry and entry[2] or {}
    for i = 1, #fields, 2 do
        if fields[i] == 'sum' then sum = tonumber(fields[i + 1]) or 0 end
        if fields[i] == 'long' then long = tonumber(fields[i + 1]) or 0 end
        if fields[i] == 'data' then own = #fields[i + 1] end
    end
    return sum, own, long
end

-- Offers an event to consumers outside (webhooks, pushes), in the partition's stream of offers. The stream's key is the
-- last key, and is absent if there are no consumers. `data` is "SUBJECT REST". `about` is for the consumers only and is
-- not sent outside. Consumers receive watchers' events anyway; if those are published on watchers' channels, "B - 0 at"
-- on a channel of its own wakes the consumers.
-- Above the limit of entries or bytes, the oldest are dropped, and the next entry has their number.
-- Long entries share half of the bytes. One above that is replaced by an entry "lost", so a user who keeps sending long
-- messages cannot displace the short entries of others.
local mostOffers, mostOfferedBytes, shortOffer = 20000, 8 * 1024 * 1024, 1024
local function offer(type, data, about)
    local key = KEYS[#KEYS]
    if not string.match(key, '^[^{]*{p%d+}:offers$') then return end
    local lost, sum, _, long = 0, offered(redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1])
    if #data > shortOffer then
        local _, own, before = offered(redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1])
        if own <= shortOffer then own = 0 end
        if long - before + own + #data > mostOfferedBytes / 2 then
            type, data, about, lost = 'lost', string.match(data, '^%S+'), nil, 1
        else
            long = long + #data
        end
    end
    sum = sum + #data
    while sum > mostOfferedBytes or redis.call('XLEN', key) >= mostOffers do
        local first, own = offered(redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1])
        local count = redis.call('XLEN', key)
        if count == 0 or count < mostOffers and sum - first + own <= mostOfferedBytes then break end
        lost = lost + redis.call('XTRIM', key, 'MAXLEN', count - math.ceil(count / 20))
    end
    local more = about and { 'about', about } or {}
    redis.call('XADD', key, '*', 'type', type, 'at', int(now), 'lost', int(lost), 'sum', int(sum), 'long', int(long), 'data',
        data, unpack(more))
    local partition = string.match(ARGV[2] or '', '^(.*{p%d+}):events:$')
    if partition then redis.call('PUBLISH', partition .. ':offers', 'B - 0 ' .. int(now)) end
end
