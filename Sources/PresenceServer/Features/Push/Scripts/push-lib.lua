-- What scripts of pushes share.

-- What is noted for a conversation, in the user's `pushed` under its name with a space before it: "FIRST NEWEST HELD DELETIONS".
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

-- A message may need a push: that is decided now if its user has no session, or after `wait` ms in which one of them may get it.
-- Returns in how many ms.
--   push    sorted set of the partition: "USER CONVERSATION" by when it is due
--   pushed  hash of the user: what is noted, and what they were pushed for
local function noteDue(keys, user, conversation, seq, wait)
    if redis.call('EXISTS', keys.sessions) == 0 then wait = 0 end
    local entry = user .. ' ' .. conversation
    local first, newest, held, deletions = noted(keys.pushed, conversation)
    if redis.call('ZADD', keys.push, 'NX', int(now + wait), entry) == 1 then
        putNoted(keys.pushed, conversation, seq, seq, 0, 0)
    elseif seq > newest then
        -- A decision that is under way must see that there is a newer one. One that comes while the decision is put off has its
        -- own time.
        if newest <= held then
            first = seq
            redis.call('ZADD', keys.push, 'LT', int(now + wait), entry)
        end
        putNoted(keys.pushed, conversation, first, seq, held, deletions)
    end
    return wait
end

-- What a user was pushed for is under the conversation's name: "SEQ AT DEVICE …", the message, when it was told, and those who
-- may still get it. A device that this installation sends to is named by 6 digits of a hash, others by a - each: nobody hears
-- what becomes of those.
local function deviceName(platform, token, platforms)
    if not string.find(platforms, ' ' .. platform .. ' ', 1, true) then return '-' end
    return string.sub(redis.sha1hex(platform .. ' ' .. token), 1, 6)
end

-- The devices of a user that may be pushed to: { platform, at, token as JSON } of each. Those of sessions that have ended, or
-- have not been used for `idle` ms, may not; nor those of the app's own tokens that were registered before tokens were revoked.
local function devicesOf(key, grantsKey, userKey, idle)
    local revokedAt = tonumber(redis.call('HGET', userKey, 'revokedAt') or '0')
    local devices, fields = {}, redis.call('HGETALL', key)
    for i = 1, #fields, 2 do
        local platform, at, token = string.match(fields[i + 1], '^(%a+) (%d+) (.+)$')
        local id = string.match(fields[i], '^g:(.+)$')
        local value = id and redis.call('HGET', grantsKey, id)
        local held = value and deviceOf(value)
        local isCurrent = held and held.used + idle >= now
        if not id then isCurrent = tonumber(at or '0') >= revokedAt end
        if platform and isCurrent then
            devices[#devices + 1] = { platform = platform, at = tonumber(at), token = token }
        end
    end
    return devices
end
