-- Shared by the scripts of pushes.

-- The note of a conversation, in the user's `pushed` under its name with a space before it: "FIRST NEWEST HELD DELETIONS".
-- FIRST is the message whose time it is, NEWEST the newest that was noted, HELD the newest for which the decision was put off
-- (0: none), DELETIONS how many messages were deleted meanwhile. Earlier versions did not write that.
local function parsedNote(value)
    local first, newest, held, deletions = string.match(value, '^(%d+) (%d+) (%d+) ?(%d*)$')
    return tonumber(first or '0'), tonumber(newest or '0'), tonumber(held or '0'), tonumber(deletions or '') or 0
end

local function noted(key, conversation) return parsedNote(redis.call('HGET', key, ' ' .. conversation) or '') end

local function putNoted(key, conversation, ...)
    local numbers = { ... }
    -- Earlier versions read three.
    if numbers[4] == 0 then numbers[4] = nil end
    for i, number in ipairs(numbers) do numbers[i] = int(number) end
    redis.call('HSET', key, ' ' .. conversation, table.concat(numbers, ' '))
end

-- ms in which a session of the user may get a message; a user without any session is truly away at once.
local function waitOf(sessionsKey, wait)
    return redis.call('EXISTS', sessionsKey) == 0 and 0 or wait -- mutation: a-session-has-time
end

-- A message may need a push: that is decided in `wait` ms, or now if its user has no session. Returns in how many ms.
--   push    sorted set of the partition: "USER CONVERSATION" by the time of the decision
--   pushed  hash of the user: the notes, and the last pushes
local function noteDue(keys, user, conversation, seq, wait)
    wait = waitOf(keys.sessions, wait)
    local entry = user .. ' ' .. conversation
    local first, newest, held, deletions = noted(keys.pushed, conversation)
    if redis.call('ZADD', keys.push, 'NX', int(now + wait), entry) == 1 then
        putNoted(keys.pushed, conversation, seq, seq, 0, 0)
    elseif seq > newest then
        -- A decision that is under way must find that there is a newer message. One that comes while the decision is put off has a
        -- time of its own.
        if newest <= held then first = seq end
        -- A user without any session waits for no earlier message.
        if newest <= held or wait == 0 then redis.call('ZADD', keys.push, 'LT', int(now + wait), entry) end
        putNoted(keys.pushed, conversation, first, seq, held, deletions)
    end
    return wait
end

-- The last push of a conversation is under its name: "SEQ AT DEVICE …", the message, the time of the push, and the devices that
-- may still get it. A device that this installation sends to is named by 6 digits of a hash, others by a - each: their outcomes
-- are not known here.
local function deviceName(platform, token, platforms)
    if not string.find(platforms, ' ' .. platform .. ' ', 1, true) then return '-' end
    return string.sub(redis.sha1hex(platform .. ' ' .. token), 1, 6)
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
