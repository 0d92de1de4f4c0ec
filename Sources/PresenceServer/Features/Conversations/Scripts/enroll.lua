-- A user's inbox hears that they joined or left a conversation: "in VERSION" or "out VERSION"; "in VERSION put" if it is another
-- user's group. One whose account is deleted has no inbox any more: the conversation is told so, and takes them out (settle.lua).
-- What the inbox had when the account was deleted is left by Departing.
-- So it is if they are in as many conversations as a user may be: who asked has looked before, but somebody was quicker. Groups
-- of others take half of that and no more: else two accounts that make many could keep a user from all new conversations.
-- keys: unfinished, inbox, user, pushed
-- args: intent, conversation, change in or put or out, version, mostIn conversations that a user may be in
-- replies: OK(setting of receipts: e NUMBER or n NUMBER or '') | OK(-) if their account is deleted | OK(+) if they are in too many
--       | FENCED

-- Of conversations that were left the newest are kept, and all that were left within the hour: a step that comes late finds
-- the later one. A server whose step is later than that may not write any more. " dropped" (no id has a space) is the largest
-- version that was dropped: from before it nobody knows what was left.
local most, kept, hour = 500, 400, 3600000
local function dropOldest(inbox)
    if redis.call('HLEN', inbox) <= most then return end
    -- Not at once again when nothing was old enough: " checked" is when that was.
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

local user = redis.call('HMGET', userKey, 'receipts', 'deletedAt')
if user[2] then return { 'OK', '-' } end
local state, held = string.match(redis.call('HGET', inboxKey, conversation) or '', '^(%a+) (%d+)')
if tonumber(version) > tonumber(held or '0') then
    local isPut, isOut = change == 'put', change == 'out'
    if not isOut and state ~= 'in' and isFull(inboxKey, tonumber(mostIn), isPut) then return { 'OK', '+' } end
    redis.call('HSET', inboxKey, conversation, (isOut and 'out ' or 'in ') .. version .. (isPut and ' put' or ''))
    -- What they were pushed for in it.
    if isOut then
        redis.call('HDEL', pushedKey, conversation) -- mutation: pushed-for
        dropOldest(inboxKey)
    end
end
return { 'OK', user[1] or '' }
