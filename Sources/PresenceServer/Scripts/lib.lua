-- What every script begins with. ARGV[1] is the time in ms, or 0 for Redis' own clock: tests invent it.

-- Redis' time is not frozen while a script runs, so it is read once.
local function clock()
    local given = tonumber(ARGV[1])
    if given ~= 0 then return given end
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
local now = clock()

-- Lua's own conversion turns large integers into 1.7e+12.
local function int(number) return string.format('%.0f', number) end

-- A version only grows: past the last one, past the partition's floor, and not behind the clock.
local function nextVersion(last, floorKey)
    local floor = tonumber(redis.call('GET', floorKey) or '0')
    return math.max(tonumber(last or '0'), floor, now - 1) + 1
end

-- Only incarnations that are in the partition's set may write.
local function fenced(shardsKey, incarnation)
    return redis.call('SISMEMBER', shardsKey, incarnation) == 0
end

-- A session's value: "INCARNATION DEVICE KIND STATE BEGAN"; DEVICE is =ID or -, STATE a (active) or i (idle).
local function session(value)
    local incarnation, device, kind, state, began = string.match(value, '^(%S+) (%S+) (%S+) (%S) (%d+)$')
    return { incarnation = incarnation, device = device, kind = kind, state = state, began = tonumber(began) }
end

-- Tells the user's own sessions what they chose: "O user version at chosen clearAt text".
local function tellStatus(userKey, channel, user)
    local own = redis.call('HMGET', userKey, 'chosen', 'text', 'clearAt', 'chosenVersion')
    redis.call('PUBLISH', channel, table.concat({
        'O', user, own[4] or '0', int(now), own[1] or 'auto', own[3] or '-', own[2] or '-' }, ' '))
end

-- Sets what the user chose. `text` is '' to keep, 'null' to clear, else an encoded JSON string.
local function choose(userKey, chosen, text, clearAfter)
    local version = math.max(tonumber(redis.call('HGET', userKey, 'chosenVersion') or '0'), now - 1) + 1
    redis.call('HSET', userKey, 'chosen', chosen, 'chosenVersion', int(version))
    if text == 'null' then
        redis.call('HDEL', userKey, 'text')
    elseif text ~= '' then
        redis.call('HSET', userKey, 'text', text)
    end
    if clearAfter == '' then
        redis.call('HDEL', userKey, 'clearAt')
    else
        redis.call('HSET', userKey, 'clearAt', int(now + tonumber(clearAfter)))
    end
end

-- What is chosen for a time goes back when the time is over.
local function lapse(userKey, channel, user)
    local clearAt = redis.call('HGET', userKey, 'clearAt')
    if clearAt and tonumber(clearAt) <= now then
        choose(userKey, 'auto', 'null', '')
        tellStatus(userKey, channel, user)
    end
end

-- The reply that tells a shard what its user chose: chosen, text, clearAt, version.
local function ownStatus(userKey)
    local own = redis.call('HMGET', userKey, 'chosen', 'text', 'clearAt', 'chosenVersion')
    return { own[1] or 'auto', own[2] or '', own[3] or '', own[4] or '0' }
end

-- The user was here until `time`, as far as this shard knows.
local function seen(userKey, time)
    local last = tonumber(redis.call('HGET', userKey, 'lastSeen') or '0')
    if time > last then redis.call('HSET', userKey, 'lastSeen', int(time)) end
end

-- Recomputes what others see, over all sessions. Only if that differs it gets a new version and is published:
-- "P user version at BODY", where the register is {"version":VERSION,BODY. `since` is when a new status began.
local function announce(userKey, sessionsKey, floorKey, channel, user, since)
    local held = redis.call('HMGET', userKey, 'chosen', 'text', 'shown', 'status', 'since', 'presenceVersion')
    local before = held[4] or 'offline'
    local kinds, present, active = {}, false, false
    if held[1] ~= 'invisible' then
        for _, value in ipairs(redis.call('HVALS', sessionsKey)) do
            local each = session(value)
            present = true
            active = active or each.state == 'a'
            kinds[each.kind] = true
        end
    end
    local status = 'offline'
    if present then
        status = held[1] == 'busy' and 'busy' or active and 'online' or 'away'
    end
    -- Offline stays as it was announced: with the lastSeen of the moment when it began.
    if status == 'offline' and before == 'offline' then return end

    local shown = status
    local body = ''
    if status == 'offline' then
        if held[1] == 'invisible' then seen(userKey, now) end
        body = ',"lastSeen":' .. (redis.call('HGET', userKey, 'lastSeen') or int(now))
    else
        local devices = {}
        for kind in pairs(kinds) do devices[#devices + 1] = '"' .. kind .. '"' end
        table.sort(devices)
        if held[2] then body = ',"text":' .. held[2] end
        body = body .. ',"devices":[' .. table.concat(devices, ',') .. ']'
        shown = status .. body
    end
    if shown == held[3] then return end
    if status == before then since = held[5] else since = int(since) end
    local version = int(nextVersion(held[6], floorKey))
    body = '"status":"' .. status .. '","since":' .. since .. body .. '}'
    redis.call('HSET', userKey, 'shown', shown, 'status', status, 'since', since, 'presenceVersion', version,
        'presence', body)
    redis.call('PUBLISH', channel, table.concat({ 'P', user, version, int(now), body }, ' '))
end
