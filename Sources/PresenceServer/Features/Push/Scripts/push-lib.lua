-- Shared by the scripts of pushes.

-- The record of a conversation in the user's `pushed`: "SEQ AT DEVICE …|EPOCH". The last push that counts has the message SEQ
-- (0: none counts). It was made at AT, and these devices may still get it. EPOCH grows with each change, so a decision can be
-- refused if it rests on an earlier record. An unreadable record is an error, which is counted and logged. With AT 0 the push of SEQ
-- is held: it has not been made, and is decided again when the user's entry in `held` is due. A notification has a record only while
-- its push is held, and the last summary has one under ~.
local function pushAt(key, conversation)
    local text = redis.call('HGET', key, conversation) or ''
    local seq, at, devices, epoch = string.match(text, '^(%d+) (%d+)([%x -]*)|?(%d*)$')
    if text ~= '' and not seq then error('damaged record') end
    return { text = text, seq = tonumber(seq or '0'), at = at or '0', devices = devices or '',
        epoch = tonumber(epoch or '') or 0 }
end

local function isHeld(record) return record.seq > 0 and record.at == '0' end

local function setPush(key, conversation, record, seq, at, devices)
    redis.call('HSET', key, conversation, int(tonumber(seq)) .. ' ' .. at .. devices .. '|' .. int(record.epoch + 1))
end

-- The places of all held pushes of a user.
local function heldPlaces(pushedKey)
    local fields, places = redis.call('HGETALL', pushedKey), {}
    for i = 1, #fields, 2 do
        if string.match(fields[i + 1], '^[1-9]%d* 0|') then places[#places + 1] = fields[i] end
    end
    table.sort(places)
    return places
end

-- Whatever happens to the push of a notification, it is not held any more. If the notification is for its push alone (notify), its
-- text is removed, too.
local function dropPushed(pushedKey, notificationsKey, name)
    redis.call('HDEL', pushedKey, name)
    redis.call('HDEL', notificationsKey, 'push ' .. string.match(name, '^#(%d+)'))
end

-- The newest 200 notifications of a user are held. Quiet hours may last forever, and notifications that are for their push alone have
-- no other bound.
local function dropOldestHeld(pushedKey, notificationsKey)
    local most, held = 200, {}
    if redis.call('HLEN', pushedKey) <= most then return end
    for _, name in ipairs(redis.call('HKEYS', pushedKey)) do
        local seq = tonumber(string.match(name, '^#(%d+)') or '')
        if seq then held[#held + 1] = { seq = seq, name = name } end
    end
    if #held <= most then return end
    table.sort(held, function(a, b) return a.seq < b.seq end)
    for i = 1, #held - most do dropPushed(pushedKey, notificationsKey, held[i].name) end
end

-- A push that waits for the end of a user's quiet hours, or of their being busy. An earlier time that is already set stays.
local function holdPush(key, user, pushedKey, notificationsKey, place, record, seq, limit)
    setPush(pushedKey, place, record, seq, '0', '') -- mutation: held-is-recorded
    redis.call('ZADD', key, 'LT', int(limit), user)
    if string.sub(place, 1, 1) == '#' then dropOldestHeld(pushedKey, notificationsKey) end
end

-- A user's settings of notifications as JSON in the server's own form, so plain text can be searched in it.
local function isUnwanted(settings, kind) return string.find(settings or '', '"' .. kind .. '":"none"', 1, true) end

-- Whether a user wants notifications of a kind, given as JSON, in their list, and pushed.
local function wishes(settings, kind)
    for _, before in ipairs({ '{', ',' }) do
        local _, last = string.find(settings or '', before .. kind .. ':{"inbox":', 1, true)
        local inbox, push = string.match(settings or '', '^(%a+),"push":(%a+)', (last or 0) + 1)
        if inbox then return inbox ~= 'false', push ~= 'false' end
    end
    return true, true
end

-- A device that this installation sends to is named by 6 digits of a hash, others by a - each: their outcomes are not known here.
local function deviceName(platform, token, platforms)
    if not string.find(platforms, ' ' .. platform .. ' ', 1, true) then return '-' end
    return string.sub(redis.sha1hex(platform .. ' ' .. token), 1, 6)
end

local function hasSession(sessionsKey)
    return redis.call('EXISTS', sessionsKey) == 1 -- mutation: a-session-has-time
end

-- A push is decided in `wait` ms, in which a session of the user may get the message. A user without any session is truly away, so
-- it is decided at once. An earlier time that is already set stays. Returns in how many ms.
local function schedulePush(key, entry, sessionsKey, wait)
    if not hasSession(sessionsKey) then wait = 0 end
    redis.call('ZADD', key, 'LT', int(now + wait), entry)
    return int(wait)
end

-- The devices of a user that may be pushed to: { platform, at, token as JSON } of each. Those of sessions that have ended, or
-- have not been used for `idle` ms, may not; nor those of the app's own tokens that were registered before tokens were revoked. A
-- banned user has none.
local function devicesOf(key, grantsKey, userKey, idle)
    local held = redis.call('HMGET', userKey, 'revokedAt', 'ban')
    if banned(held[2]) then return {} end
    local revokedAt = tonumber(held[1] or '0')
    local devices, fields = {}, redis.call('HGETALL', key)
    for i = 1, #fields, 2 do
        local platform, at, token = string.match(fields[i + 1], '^(%a+) (%d+) (.+)$')
        local id = string.match(fields[i], '^g:(.+)$')
        local value = id and redis.call('HGET', grantsKey, id)
        local held = value and deviceOf(value)
        local isCurrent = held and held.used + idle >= now
        if not id then isCurrent = tonumber(at or '0') >= revokedAt end -- mutation: revoked-devices
        if platform and isCurrent then
            devices[#devices + 1] = { platform = platform, at = tonumber(at), token = token }
        end
    end
    return devices
end

-- The newest devices of a user as the list of a push, and their names in its record.
local function newestDevices(key, grantsKey, userKey, idle, platforms)
    local most, shown, names = 20, {}, ''
    local devices = devicesOf(key, grantsKey, userKey, idle)
    table.sort(devices, function(a, b) return a.at > b.at end)
    for i = 1, math.min(#devices, most) do
        local platform, token = devices[i].platform, devices[i].token
        local name = platform == 'web' and 'subscription' or 'pushToken'
        shown[i] = '{"platform":"' .. platform .. '","' .. name .. '":' .. token .. '}'
        names = names .. ' ' .. deviceName(platform, token, platforms)
    end
    return '"devices":[' .. table.concat(shown, ',') .. ']', names
end
