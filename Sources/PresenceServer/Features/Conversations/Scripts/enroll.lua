-- Updates a user's inbox after they joined or left a conversation: "in VERSION" or "out VERSION"; "in VERSION put" for
-- another user's group.
-- A deleted account has no inbox any more: the conversation removes the user after the reply - (settle.lua). The
-- conversations that the inbox had at the deletion are left by Departing.
-- The conversation also removes a user who is in as many conversations as allowed (+): the request has checked this,
-- but a faster change took the room. Groups of other users take at most half of the limit: otherwise two accounts that
-- make many groups could keep a user from all new conversations.
-- A direct conversation is a request if its user admits only contacts and the one who began it is none.
-- keys: unfinished, inbox, user, pushed, contacts
-- args: intent, conversation, change in or put or out or "asked USER" with the one who began it, version, mostIn conversations that a user may be in
-- replies: OK(setting of receipts: e NUMBER or n NUMBER or '', 1 for a request) | OK(-) if their account is deleted | OK(+) if they are in too many
--       | FENCED

-- Keeps the newest conversations that were left, and all that were left within the last hour, so that a late step finds
-- the later entry. Servers may not write steps later than that. " dropped" (no id has a space) is the largest dropped
-- version: at or below it, the conversations left are not known.
local most, kept, hour = 500, 400, 3600000
local function dropOldest(inbox)
    if redis.call('HLEN', inbox) <= most then return end
    -- Tries again after a minute at the earliest if nothing was old enough: " checked" is the time of that.
    local checked = tonumber(redis.call('HGET', inbox, ' checked')) or 0
    if checked <= now and now - checked < 60000 then return end
    local left, old, fields = 0, {}, redis.call('HGETALL', inbox)
    for i = 1, #fields, 2 do
        local version = tonumber(string.match(fields[i + 1], '^out (%d+)'))
        if version then
            left = left + 1
            if version < now - hour then old[#old + 1] = { id = fields[i], version = version } end
        end
    end
    if left <= most then return end
    table.sort(old, function(a, b) return a.version < b.version end)
    local dropped = tonumber(redis.call('HGET', inbox, ' dropped')) or 0
    for i = 1, math.min(#old, left - kept) do
        redis.call('HDEL', inbox, old[i].id)
        dropped = math.max(dropped, old[i].version)
    end
    if dropped > 0 then redis.call('HSET', inbox, ' dropped', int(dropped)) end
    if left - #old > kept then redis.call('HSET', inbox, ' checked', int(now)) end
end

local function isFull(inbox, most, isPut)
    local mostPut = math.floor(most / 2)
    if redis.call('HLEN', inbox) < (isPut and mostPut or most) then return false end
    local count, put = 0, 0
    for _, value in ipairs(redis.call('HVALS', inbox)) do
        if string.sub(value, 1, 3) == 'in ' then
            count = count + 1
            if string.sub(value, -4) == ' put' then put = put + 1 end
        end
    end
    return count >= most or isPut and put >= mostPut
end

local user = redis.call('HMGET', userKey, 'receipts', 'deletedAt', 'findable')
if user[2] then return { 'OK', '-' } end
local state, held = string.match(redis.call('HGET', inboxKey, conversation) or '', '^(%a+) (%d+)')
if tonumber(version) > tonumber(held or '0') then
    local isPut, isOut = change == 'put', change == 'out'
    if not isOut and state ~= 'in' and isFull(inboxKey, tonumber(mostIn), isPut) then return { 'OK', '+' } end
    redis.call('HSET', inboxKey, conversation, (isOut and 'out ' or 'in ') .. version .. (isPut and ' put' or ''))
    -- Also removes the note of what was pushed to the user in it.
    if isOut then
        redis.call('HDEL', pushedKey, conversation) -- mutation: pushed-for
        dropOldest(inboxKey)
    end
end
local asker = string.match(change, '^asked (%S+)$')
local isRequest = asker and string.sub(user[3] or '', 2) == 'c'
    and redis.call('SISMEMBER', contactsKey, asker) == 0 -- mutation: strangers-ask
return { 'OK', user[1] or '', isRequest and '1' or '' }
