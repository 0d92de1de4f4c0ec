-- What scripts of accounts share.

-- Bytes, of their hexadecimal digits: arguments are text.
local function unhex(text)
    return (string.gsub(text, '..', function(digits) return string.char(tonumber(digits, 16)) end))
end

-- The account as its owner sees it: BODY of {"user":…}, and its version. False if there is none. It is in its user's hash, as
-- is the record of their username. It came to be with their profile, which says when.
local function account(user, key)
    local held = redis.call('HMGET', key, 'email', 'verified', 'profile', 'setup', 'language', 'held', 'version', 'disabled',
        'heldAs')
    if not held[1] then return false end
    local body = '{"user":"' .. user .. '","email":"' .. held[1] .. '","emailVerified":' .. (held[2] and 'true' or 'false')
    if held[6] then body = body .. ',"username":"' .. (held[9] or held[6]) .. '"' end
    body = body .. ',"setupCompleted":' .. (held[4] and 'true' or 'false')
    if held[5] then body = body .. ',"preferredLanguage":' .. held[5] end
    if held[8] then body = body .. ',"disabled":true' end
    return body .. ',"createdAt":' .. (string.match(held[3] or '', '"createdAt":(%d+)') or '0') .. '}', held[7]
end

-- Something of it has changed: a new version, of which the owner's sessions hear "A user version at BODY".
local function accountChanged(user, key)
    local version = int(nextVersion(redis.call('HGET', key, 'version'), floorKey))
    redis.call('HSET', key, 'version', version)
    local body = account(user, key)
    redis.call('PUBLISH', channel, table.concat({ 'A', user, version, int(now), body }, ' '))
    return body, version
end

-- The address is its owner's.
local function verifyAddress(user, key)
    redis.call('HDEL', key, 'verify')
    if redis.call('HSET', key, 'verified', '1') == 1 then accountChanged(user, key) end
end

-- A device that is signed in, of its record: its key (16 bytes), then "COUNTER USED CREATED RECENT KIND NAME". COUNTER is the newest
-- refresh token's, RECENT the times at which this one and those before it were made, the newest first, of the last 10 s
-- (- for none), NAME an encoded JSON string.
local function deviceOf(value)
    local counter, used, created, recent, kind, name = string.match(string.sub(value, 17),
        '^(%d+) (%d+) (%d+) (%S+) (%S+) (.*)$')
    if not counter then return nil end
    return { key = string.sub(value, 1, 16), counter = tonumber(counter), used = tonumber(used), created = created,
        recent = recent, kind = kind, name = name }
end

local function putDevice(key, id, held)
    redis.call('HSET', key, id, held.key .. table.concat({ int(held.counter), int(held.used), held.created, held.recent,
        held.kind, held.name }, ' '))
end

-- Devices are signed out: their sockets end by "G user 0 at GRANT GRANT …". Nothing is told of none. The first may be -, which is
-- none: the device goes on under another grant, and its sessions linger until it is back.
local function signOut(user, key, ids)
    if #ids == 0 then return end
    redis.call('HDEL', key, unpack(ids))
    redis.call('PUBLISH', channel, table.concat({ 'G', user, '0', int(now), table.concat(ids, ' ') }, ' '))
end

-- All of them, but one ('' for none).
local function signOutOthers(user, key, kept)
    local ids = {}
    for _, id in ipairs(redis.call('HKEYS', key)) do
        if id ~= kept then ids[#ids + 1] = id end
    end
    signOut(user, key, ids)
end

-- Signs in on a device. Those that have not been used for `idle` ms make room, and of too many the one unused for longest.
local function signIn(user, key, id, secret, kind, name, idle, most)
    local gone, oldest, count = {}, nil, 0
    local values = redis.call('HGETALL', key)
    for i = 1, #values, 2 do
        local held = deviceOf(values[i + 1])
        if not held or held.used + idle < now then
            gone[#gone + 1] = values[i]
        else
            count = count + 1
            if not oldest or held.used < oldest.used then oldest = { id = values[i], used = held.used } end
        end
    end
    if count >= most then gone[#gone + 1] = oldest.id end
    signOut(user, key, gone)
    putDevice(key, id, { key = unhex(secret), counter = 1, used = now, created = int(now), recent = '-', kind = kind,
        name = name })
end

-- How many mails of a kind have been asked for in the hour that its first began: "COUNT BEGAN". Whether one more may be.
local function mayMail(key, kind, most)
    local count, began = string.match(redis.call('HGET', key, 'mails:' .. kind) or '', '^(%d+) (%d+)$')
    count, began = tonumber(count or '0'), tonumber(began or '0')
    if began > now or began + 3600000 <= now then count, began = 0, now end
    if count >= most then return false end
    redis.call('HSET', key, 'mails:' .. kind, int(count + 1) .. ' ' .. int(began))
    return true
end

-- Whether a token of a mail is the newest of its kind and still good, by its digest: FIELD holds "DIGEST UNTIL REST".
-- Returns REST, or false.
local function mailToken(key, field, digest)
    local kept, limit, rest = string.match(redis.call('HGET', key, field) or '', '^(%S+) (%d+) ?(.*)$')
    return kept == digest and tonumber(limit) > now and rest
end

-- A mail with a token waits to be sent. It is not worth sending once the token is over: when that is, in ms since 1970, becomes
-- the end of the mail's id, which is its first line.
local function pushMail(key, mail, limit)
    redis.call('RPUSH', key, (string.gsub(mail, '\n', '-' .. int(limit) .. '\n', 1)))
end

-- When the token of a mail is over; nil for a mail without one.
local function mailLimit(mail)
    return tonumber(string.match(mail, '^%d+%-%w+%-(%d+)\n'))
end

-- Mails to an account's address, and to the one that it is to have, are not sent any more. Looks at a thousand that wait to be sent
-- and a thousand that were taken: behind a mail server that is away there may be many, of which each is over in half an hour.
local mostLookedAt = 1000
local function dropMails(key, mailKey, mailingKey)
    local held = redis.call('HMGET', key, 'email', 'change')
    local wanted = string.match(held[2] or '', '^%S+ %d+ (%S+)')
    local function isTheirs(mail)
        local to = string.match(mail, '^[^\n]*\n([^\n]*)\n')
        return to and (to == held[1] or to == wanted)
    end
    for _, mail in ipairs(redis.call('LRANGE', mailKey, 0, mostLookedAt - 1)) do
        if isTheirs(mail) then redis.call('LREM', mailKey, 1, mail) end
    end
    for _, mail in ipairs(redis.call('ZRANGE', mailingKey, 0, mostLookedAt - 1)) do
        if isTheirs(mail) then redis.call('ZREM', mailingKey, mail) end
    end
end

-- An address that is claimed under this number is to be given up, with the change of address that is under way.
-- Returns all that is: "NUMBER ADDRESS …".
local function giveUp(key, number, address)
    local releasing = redis.call('HGET', key, 'emailReleasing')
    releasing = (releasing and releasing .. ' ' or '') .. number .. ' ' .. address
    redis.call('HSET', key, 'emailReleasing', releasing)
    return releasing
end

-- A change of address that has been asked for is over, and so is one that is under way: it may have been
-- somebody else who asked. What was claimed for it is given up when its intent ends.
local function dropChange(key)
    local held = redis.call('HMGET', key, 'emailWanted', 'emailWish')
    local wanted = string.match(held[1] or '', '^(%S+) %d+$')
    if wanted then giveUp(key, held[2], wanted) end
    redis.call('HDEL', key, 'change', 'emailWanted')
end
