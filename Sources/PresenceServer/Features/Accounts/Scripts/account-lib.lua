-- Functions for scripts of accounts.

-- Decodes hexadecimal arguments, since arguments are text.
local function unhex(text)
    return (string.gsub(text, '..', function(digits) return string.char(tonumber(digits, 16)) end))
end

-- Returns the account as its owner sees it, the BODY of {"user":…}, and its version; false if there is none. It is in its
-- user's hash, like the record of the username. Its creation time is that of the profile. Each account has a version; a guest
-- has no address.
local function account(user, key)
    local held = redis.call('HMGET', key, 'email', 'verified', 'profile', 'setup', 'language', 'held', 'version', 'disabled',
        'heldAs', 'guest')
    if not held[7] then return false end
    local body = '{"user":"' .. user .. '"'
    if held[1] then body = body .. ',"email":"' .. held[1] .. '"' end
    body = body .. ',"emailVerified":' .. (held[2] and 'true' or 'false')
    if held[10] then body = body .. ',"guest":true' end
    if held[6] then body = body .. ',"username":"' .. (held[9] or held[6]) .. '"' end
    body = body .. ',"setupCompleted":' .. (held[4] and 'true' or 'false')
    if held[5] then body = body .. ',"preferredLanguage":' .. held[5] end
    if held[8] then body = body .. ',"disabled":true' end
    return body .. ',"createdAt":' .. (string.match(held[3] or '', '"createdAt":(%d+)') or '0') .. '}', held[7]
end

-- Gives a changed account a new version and publishes it to the owner's sessions: "A user version at BODY".
local function accountChanged(user, key)
    local version = int(nextVersion(redis.call('HGET', key, 'version'), floorKey))
    redis.call('HSET', key, 'version', version)
    local body = account(user, key)
    redis.call('PUBLISH', channel, table.concat({ 'A', user, version, int(now), body }, ' '))
    return body, version
end

-- Records that a guest is in use now: in the account's hash, and in the partition's set, which is swept for unused guests.
local function useGuest(user, key, guestsKey)
    redis.call('HSET', key, 'guest', int(now))
    redis.call('ZADD', guestsKey, int(now), user)
end

-- Marks the address as verified.
local function verifyAddress(user, key)
    redis.call('HDEL', key, 'verify')
    if redis.call('HSET', key, 'verified', '1') == 1 then accountChanged(user, key) end
end

-- Parses the record of a signed-in device: its key (16 bytes), then "COUNTER USED CREATED RECENT KIND NAME". COUNTER is that of
-- the newest refresh token. RECENT are the creation times of this token and those before it within the last 10 s, the newest
-- first (- for none). NAME is an encoded JSON string.
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

-- Signs devices out: "G user 0 at GRANT GRANT …" ends their sockets; without devices nothing is published. The first may be -
-- instead of a grant: the device continues under another grant, and its sessions linger until it is back.
local function signOut(user, key, ids)
    if #ids == 0 then return end
    redis.call('HDEL', key, unpack(ids))
    redis.call('PUBLISH', channel, table.concat({ 'G', user, '0', int(now), table.concat(ids, ' ') }, ' '))
end

-- Signs all devices out, except one ('' for none).
local function signOutOthers(user, key, kept)
    local ids = {}
    for _, id in ipairs(redis.call('HKEYS', key)) do
        if id ~= kept then ids[#ids + 1] = id end
    end
    signOut(user, key, ids)
end

-- Signs a device in. Devices not used for `idle` ms are removed, and with too many, the one unused for longest.
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

-- Counts one more mail of a kind, in the hour that its first one began: "COUNT BEGAN". False if there were too many.
local function mayMail(key, kind, most)
    local count, began = string.match(redis.call('HGET', key, 'mails:' .. kind) or '', '^(%d+) (%d+)$')
    count, began = tonumber(count or '0'), tonumber(began or '0')
    if began > now or began + 3600000 <= now then count, began = 0, now end
    if count >= most then return false end
    redis.call('HSET', key, 'mails:' .. kind, int(count + 1) .. ' ' .. int(began))
    return true
end

-- Notifies the owner of a change, by at most three mails an hour of a kind, and only at a verified address: another may be a
-- stranger's. In the text, the line * is in place of the address.
local function notifyOwner(key, mailKey, kind, text)
    local held = redis.call('HMGET', key, 'email', 'verified')
    if text == '' or not held[1] or not held[2] or not mayMail(key, kind, 3) then return end
    redis.call('RPUSH', mailKey, (string.gsub(text, '\n%*\n', function() return '\n' .. held[1] .. '\n' end, 1)))
end

-- Keeps the record of an address's codes for an hour, and longer after failures: a hundred are remembered for the whole time.
local function keepCodes(key, failures, memory)
    redis.call('PEXPIRE', key, int(math.max(3600000, memory * math.min(failures, 100) / 100)))
end

-- Whether a mail's token, given by its digest, is the newest of its kind and still valid: FIELD is "DIGEST UNTIL REST". Returns
-- REST, or false.
local function mailToken(key, field, digest)
    local kept, limit, rest = string.match(redis.call('HGET', key, field) or '', '^(%S+) (%d+) ?(.*)$')
    return kept == digest and tonumber(limit) > now and rest
end

-- Queues a mail with a token. It is useless once the token has expired, so that time, in ms since 1970, is appended to the
-- mail's id, its first line.
local function pushMail(key, mail, limit)
    redis.call('RPUSH', key, (string.gsub(mail, '\n', '-' .. int(limit) .. '\n', 1)))
end

-- The expiry of a mail's token; nil for a mail without one.
local function mailLimit(mail)
    return tonumber(string.match(mail, '^%d+%-%w+%-(%d+)\n'))
end

-- Removes queued mails to an account's address and to the one it wants. Checks a thousand waiting and a thousand taken mails:
-- behind an unreachable mail server there may be many, each of which expires within half an hour.
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

-- Adds an address claimed under this number to those that the pending change of address releases. Returns all of them: "NUMBER
-- ADDRESS …".
local function giveUp(key, number, address)
    local releasing = redis.call('HGET', key, 'emailReleasing')
    releasing = (releasing and releasing .. ' ' or '') .. number .. ' ' .. address
    redis.call('HSET', key, 'emailReleasing', releasing)
    return releasing
end

-- Iterates over an account's identities: the digest of issuer and subject, the number of the account's claim on it, the
-- provider's name, the time of its linking, and the provider's address of the person or -.
local function eachIdentity(key)
    return string.gmatch(redis.call('HGET', key, 'identities') or '', '(%x+) (%d+) (%S+) (%d+) (%S+)')
end

local function putIdentity(key, identity, number, provider, email)
    local held = redis.call('HGET', key, 'identities')
    local line = table.concat({ identity, number, provider, int(now), email }, ' ')
    redis.call('HSET', key, 'identities', held and held .. '\n' .. line or line)
end

-- Adds an identity claimed under this number to those that the account's intent releases: "NUMBER IDENTITY …".
local function giveUpIdentity(key, number, identity)
    local releasing = redis.call('HGET', key, 'identityReleasing')
    redis.call('HSET', key, 'identityReleasing', (releasing and releasing .. ' ' or '') .. number .. ' ' .. identity)
end

-- Ends the wish for an identity, "IDENTITY NUMBER UNTIL". Its intent releases a claim that was made for it.
local function dropIdentityWish(key)
    local wanted, number = string.match(redis.call('HGET', key, 'identityWanted') or '', '^(%x+) (%d+) %d+$')
    if wanted then giveUpIdentity(key, number, wanted) end
    redis.call('HDEL', key, 'identityWanted')
end

-- Takes the account's identities of a provider away, '' for all. The intent releases their claims. Returns how many.
local function dropIdentities(key, provider, unfinishedKey, intent)
    local kept, count = {}, 0
    for identity, number, name, linked, email in eachIdentity(key) do
        if provider == '' or name == provider then
            giveUpIdentity(key, number, identity) -- mutation: gives-up-identities
            count = count + 1
        else
            kept[#kept + 1] = table.concat({ identity, number, name, linked, email }, ' ')
        end
    end
    if count == 0 then return 0 end
    redis.call('HDEL', key, 'identities')
    if #kept > 0 then redis.call('HSET', key, 'identities', table.concat(kept, '\n')) end
    redis.call('SADD', unfinishedKey, intent)
    return count
end

-- Ends a requested change of address, even if it is in progress, because an attacker may have requested it. Its intent releases
-- the claims when it ends. The same holds for an identity that is being linked.
local function dropChange(key)
    local held = redis.call('HMGET', key, 'emailWanted', 'emailWish')
    local wanted = string.match(held[1] or '', '^(%S+) %d+$')
    if wanted then giveUp(key, held[2], wanted) end
    redis.call('HDEL', key, 'change', 'emailWanted', 'upgrade')
    dropIdentityWish(key)
end
