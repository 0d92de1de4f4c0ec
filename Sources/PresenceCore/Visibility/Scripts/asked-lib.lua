-- The requests between users are a hash of each user, which expires:
--   in:USER   "NUMBER AT STATE": USER asks this user. STATE: o open, then \31 NAME \31 TEXT as JSON or nothing, then \31g if
--             USER is a guest; a accepted and being carried out; r refused; w withdrawn after it was shown; f fell out of a
--             full list; x over, or not shown; g this user is deleted, and USER loses the request
--   out:USER  "NUMBER AT STATE": this user asks USER. STATE: w on its way, then \31 TEXT; s sent; d accepted; x withdrawn, and
--             USER is to lose it
--   #         the last number given: of what this user asks, and the version of the list of open ones
-- NUMBER is always that of the user who asks. A smaller one is too late. So entries stay for some time after their end.
local askedFor = 30 * 24 * 3600000

local function askedAt(key, field)
    local number, at, state, rest = string.match(redis.call('HGET', key, field) or '', '^(%d+) (%d+) (%a)(.*)$')
    if not number then return nil end
    return { number = tonumber(number), at = tonumber(at), state = state, rest = rest }
end

local function putAsked(key, field, number, at, state, rest)
    redis.call('HSET', key, field, table.concat({ int(number), int(at), state }, ' ') .. (rest or ''))
    redis.call('PEXPIRE', key, 2 * askedFor)
end

-- Whether the time in which it is not asked again is still running.
local function isRecent(asked) return asked.at + askedFor > now end

-- Whether the user waits for the other's answer.
local function isWaiting(own) return own and (own.state == 'w' or own.state == 's') and isRecent(own) end

local function nextNumber(key)
    local number = int(nextVersion(redis.call('HGET', key, '#'), floorKey))
    redis.call('HSET', key, '#', number)
    redis.call('PEXPIRE', key, 2 * askedFor)
    return number
end

-- The list of open ones has changed: "J user version at". Shards with the user's sessions read it.
local function tellAsked(key, user)
    redis.call('PUBLISH', channel, table.concat({ 'J', user, nextNumber(key), int(now) }, ' '))
end

-- A block ends what is open between the user and the other, in both directions.
local function endAsked(key, user, other, unfinishedKey, intent)
    local theirs, own = askedAt(key, 'in:' .. other), askedAt(key, 'out:' .. other)
    if theirs and (theirs.state == 'o' or theirs.state == 'f') then
        putAsked(key, 'in:' .. other, theirs.number, now, 'r') -- mutation: block-ends-asking
        tellAsked(key, user)
    end
    if own and (own.state == 'w' or own.state == 's') then
        putAsked(key, 'out:' .. other, own.number, own.at, 'x')
        redis.call('SADD', unfinishedKey, intent)
    end
end

-- Ends all requests of the user.
local function withdrawAsked(key, unfinishedKey, intent)
    for _, field in ipairs(redis.call('HKEYS', key)) do
        local own = string.sub(field, 1, 4) == 'out:' and askedAt(key, field)
        if own and (own.state == 'w' or own.state == 's') then
            putAsked(key, field, own.number, own.at, 'x')
            redis.call('SADD', unfinishedKey, intent)
        end
    end
end

-- For a deleted account: all requests in both directions end, and the other users lose them.
local function leaveAsked(key, unfinishedKey, intent)
    for _, field in ipairs(redis.call('HKEYS', key)) do
        local asked = string.match(field, '^%a+:') and askedAt(key, field)
        if asked then
            putAsked(key, field, asked.number, asked.at, string.sub(field, 1, 3) == 'in:' and 'g' or 'x')
            redis.call('SADD', unfinishedKey, intent)
        end
    end
end
