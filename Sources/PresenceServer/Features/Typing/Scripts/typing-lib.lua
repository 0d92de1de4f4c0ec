-- Typing users of a conversation: a hash of "USER SESSION" → expiry, "#" → version, and "#most" → the longest lease, in
-- ms. An expiry further ahead than that is from before the clock went back, and counts as expired.

-- The users who type at `now` with their remaining ms, the version, the latest expiry of those that have expired, and
-- the longest lease in ms.
local function typists(typingKey, forget)
    local left, lapsed, version, fields = {}, 0, 0, redis.call('HGETALL', typingKey)
    local most = 0
    for i = 1, #fields, 2 do
        if fields[i] == '#most' then most = tonumber(fields[i + 1]) end
    end
    for i = 1, #fields, 2 do
        if fields[i] == '#' then
            version = tonumber(fields[i + 1])
        elseif fields[i] ~= '#most' then
            local ends = tonumber(fields[i + 1])
            if ends <= now or most > 0 and ends > now + most then
                if forget then redis.call('HDEL', typingKey, fields[i]) end
                lapsed = math.max(lapsed, math.min(ends, now))
            else
                local user = string.match(fields[i], '^%S+')
                left[user] = math.max(left[user] or 0, ends - now)
            end
        end
    end
    return left, version, lapsed, most
end

-- "USER:MS USER:MS", by name. The ids have no space, and the ms follow the last colon.
local function listed(left)
    local names, parts = {}, {}
    for name in pairs(left) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do parts[#parts + 1] = name .. ':' .. int(left[name]) end
    return table.concat(parts, ' '), table.concat(names, ' ')
end

-- A version above all that a shard may have used itself when typing expired.
local function typingVersion(typingKey, version, lapsed)
    local raised = nextVersion(math.max(version, lapsed), floorKey)
    redis.call('HSET', typingKey, '#', int(raised))
    return raised
end
