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

-- Parses a session's value "INCARNATION DEVICE KIND STATE BEGAN" into its parts. DEVICE is =ID or -, STATE is a
-- (active) or i (idle).
local function session(value) return string.match(value, '^(%S+) (%S+) (%S+) (%S) (%d+)$') end

-- Reads a user's hash with one call; `finish` writes it with one, since each call costs Redis some 2 µs. Missing fields
-- are false. `pastKey` and `bounds` ("KEEP MOST", see `remember`) are for past statuses. Without bounds none are kept,
-- and `pastKey` may be another key, or nil.
local function read(id, userKey, sessionsKey, floorKey, channel, pastKey, bounds)
    local values = redis.call('HMGET', userKey, 'chosen', 'text', 'clearAt', 'chosenVersion', 'lastSeen', 'status', 'since',
        'shown', 'presenceVersion', 'barredAt', 'revokedAt', 'visibility', 'findable', 'ban')
    local user = { id = id, key = userKey, sessionsKey = sessionsKey, floorKey = floorKey, channel = channel,
        pastKey = (bounds or '') ~= '' and pastKey, bounds = bounds, changed = {}, events = {},
        chosen = values[1], text = values[2], clearAt = values[3], chosenVersion = values[4], lastSeen = values[5],
        status = values[6], since = values[7], shown = values[8], presenceVersion = values[9], barredAt = values[10],
        revokedAt = values[11], visibility = values[12], findable = values[13], ban = values[14] }
    if issuedAt then user.isRevoked = issuedAt < tonumber(user.revokedAt or '0') end
    return user
end

-- `value` is a string, or false to remove the field.
local function setUserField(user, field, value)
    if user[field] == value then return end
    user[field] = value
    user.changed[field] = true
end

-- Queues an event that `finish` publishes after the writes.
local function tell(user, ...)
    user.events[#user.events + 1] = { ... }
end

-- Sets the chosen status. `text` is '' to keep, 'null' to clear, else an encoded JSON string.
local function choose(user, chosen, text, clearAfter)
    user.wasInvisible = user.wasInvisible or user.chosen == 'invisible'
    setUserField(user, 'chosenVersion', int(math.max(tonumber(user.chosenVersion or '0'), now - 1) + 1))
    setUserField(user, 'chosen', chosen)
    if text ~= '' then setUserField(user, 'text', text ~= 'null' and text) end
    setUserField(user, 'clearAt', clearAfter ~= '' and int(now + tonumber(clearAfter))) -- mutation: never-cleared
    user.hasChosen = true
end

-- Resets a chosen status whose time is over.
local function lapse(user)
    if user.clearAt and tonumber(user.clearAt) <= now then choose(user, 'auto', 'null', '') end
end

-- The reply with a user's chosen status, the time since which tokens are valid, and the visibility: OK,
-- "now chosen clearAt version revokedAt text", visibility, findable. `clearAt` is - if there is none, and the text is empty if
-- there is none.
local function ownStatus(user)
    return { 'OK', table.concat({ int(now), user.chosen or 'auto', user.clearAt or '-', user.chosenVersion or '0',
        user.revokedAt or '0', user.text or '' }, ' '), user.visibility or '', user.findable or '' }
end

-- Records that the user was present until `time`, as far as this shard knows.
local function seen(user, time)
    if time > tonumber(user.lastSeen or '0') then setUserField(user, 'lastSeen', int(time)) end
end

-- Past statuses are a list, the oldest first: a letter (o, b, a), when it began (ms, 6 bytes) and its duration (ms, 6
-- bytes). The key expires KEEP ms after the last entry; older entries are removed at the next change.
local interval = '>c1I6I6'
local function ended(key, index)
    local value = redis.call('LINDEX', key, index)
    if not value or #value ~= 13 then return nil, value end
    local letter, began, lasted = struct.unpack(interval, value)
    return began + lasted, value, letter, began
end

-- Appends the status that the user had since `user.since`. The next one began at `from`; for offline, that is when the
-- user was last seen. Since both may become known late, entries beyond `from` are cut back. A status that is hidden
-- from all others is not kept.
local function remember(user, before, from)
    local key = user.pastKey
    local keep, most = string.match(user.bounds, '^(%d+) (%d+)$')
    local expiry, added = now - tonumber(keep), false
    local function add(letter, began)
        local count = redis.call('RPUSH', key, struct.pack(interval, letter, began, from - began))
        if count > tonumber(most) then redis.call('LTRIM', key, -tonumber(most), -1) end
        added = true
    end
    while true do
        local over, value, letter, began = ended(key, -1)
        if not value or over and over <= from then break end
        redis.call('RPOP', key)
        if over and began < from then add(letter, began) end
    end
    local since = tonumber(user.since)
    local isHidden = string.match(user.visibility or '', '^%d+ n ')
    if before ~= 'offline' and since and since < from and not isHidden then add(string.sub(before, 1, 1), since) end
    if not added then return end
    redis.call('PEXPIRE', key, keep)
    -- Each addition removes at most two old entries: this is bounded, and still catches up.
    for _ = 1, 2 do
        local over, value = ended(key, 0)
        if not value or over and over > expiry then break end
        redis.call('LPOP', key)
    end
end

-- Recomputes from all sessions what others see. If it has changed, it gets a new version and is published as
-- "P user version at BODY", where the register is {"version":VERSION,BODY. `since` is when a new status began. A script
-- that knows the sessions' values puts them into `user.sessions`.
local function announce(user, since)
    local before = user.status or 'offline'
    local kinds, present, active = {}, false, false
    for _, value in ipairs(user.sessions or redis.call('HVALS', user.sessionsKey)) do
        local shard, _, kind, state = session(value)
        user.isElsewhere = user.isElsewhere or shard ~= incarnation
        present = true
        active = active or state == 'a'
        kinds[kind] = true
    end
    if user.chosen == 'invisible' then present = false end
    local status = 'offline'
    if present then
        status = user.chosen == 'busy' and 'busy' or active and 'online' or 'away'
    end
    -- An offline register stays as announced, with the lastSeen of the moment when it began.
    if status == 'offline' and before == 'offline' then return end

    local shown = status
    local body = ''
    if status == 'offline' then
        if user.chosen == 'invisible' then seen(user, now) end
        body = ',"lastSeen":' .. (user.lastSeen or int(now))
    else
        local devices = {}
        for kind in pairs(kinds) do devices[#devices + 1] = '"' .. kind .. '"' end
        table.sort(devices)
        if user.text then body = ',"text":' .. user.text end
        body = body .. ',"devices":[' .. table.concat(devices, ',') .. ']'
        shown = status .. body
    end
    if shown == user.shown then return end -- mutation: announced-again
    if status ~= before then
        if user.pastKey then
            remember(user, before, status == 'offline' and math.min(tonumber(user.lastSeen or now), now) or since)
        end
        setUserField(user, 'since', int(since))
    end
    setUserField(user, 'status', status)
    setUserField(user, 'shown', shown)
    setUserField(user, 'presenceVersion', int(nextVersion(user.presenceVersion, user.floorKey)))
    setUserField(user, 'presence', '"status":"' .. status .. '","since":' .. user.since .. body .. '}')
    tell(user, 'P', user.id, user.presenceVersion, int(now), user.presence)
    -- Inside the server only: pushes may be held until then.
    if before == 'busy' and status ~= before then offer('user.free', user.id .. ' {}') end -- mutation: free-is-offered
    if status == 'offline' or before == 'offline' then
        offer(status == 'offline' and 'user.offline' or 'user.online',
            user.id .. ' {"version":' .. user.presenceVersion .. ',' .. user.presence)
    end
end

-- Completes a change: recomputes what others see, writes all changed fields and publishes the events. The user's own
-- sessions get the chosen status as "O user version at chosen clearAt text". It is omitted if the reply has it
-- (`answered`) and all sessions are on the shard that gets the reply. A change to or from invisible is published to all
-- shards, since those without a session of the user show who is typing.
local function finish(user, since, answered)
    announce(user, since)
    local set, gone = {}, {}
    for field in pairs(user.changed) do
        if user[field] then
            set[#set + 1] = field
            set[#set + 1] = user[field]
        else
            gone[#gone + 1] = field
        end
    end
    if #set > 0 then redis.call('HSET', user.key, unpack(set)) end
    if #gone > 0 then redis.call('HDEL', user.key, unpack(gone)) end
    local concernsAll = user.wasInvisible or user.chosen == 'invisible'
    if user.hasChosen and (user.isElsewhere or not answered or concernsAll) then
        redis.call('PUBLISH', user.channel, table.concat({ 'O', user.id, user.chosenVersion, int(now), user.chosen,
            user.clearAt or '-', user.text or '-' }, ' '))
    end
    for _, event in ipairs(user.events) do publish(user.channel, unpack(event)) end
end
