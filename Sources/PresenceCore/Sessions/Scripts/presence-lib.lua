-- The functions of scripts that change a user's presence or status. Every library has them, like those of lib.lua.

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
