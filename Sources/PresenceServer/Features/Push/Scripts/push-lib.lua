-- Shared by the scripts of pushes.

-- The record of a conversation in the user's `pushed`: "SEQ AT DEVICE …|EPOCH". The last push that counts has the message SEQ
-- (0: none counts). It was made at AT, and these devices may still get it. EPOCH grows with each change, so a decision can be
-- refused if it rests on an earlier record. An unreadable record is an error, which is counted and logged.
local function pushAt(key, conversation)
    local text = redis.call('HGET', key, conversation) or ''
    local seq, at, devices, epoch = string.match(text, '^(%d+) (%d+)([%x -]*)|?(%d*)$')
    if text ~= '' and not seq then error('damaged record') end
    return { text = text, seq = tonumber(seq or '0'), at = at or '0', devices = devices or '',
        epoch = tonumber(epoch or '') or 0 }
end

local function putPush(key, conversation, record, seq, at, devices)
    redis.call('HSET', key, conversation, int(tonumber(seq)) .. ' ' .. at .. devices .. '|' .. int(record.epoch + 1))
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
local function noteDue(key, entry, sessionsKey, wait)
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
