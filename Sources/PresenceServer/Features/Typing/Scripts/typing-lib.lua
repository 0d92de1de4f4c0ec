-- Who types in a conversation: a hash of "USER SESSION" → until, "#" → version, and "#most" → for how many ms anybody may type.
-- Whose time is further ahead than that has typed before the clock went back, and long since stopped.

-- Everyone who types at `now` with the ms that are left, the version, when the last of those who ran out did, and for how many ms
-- anybody may type.
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

-- "USER:MS USER:MS", by name; the ids have no space, and what follows the last colon is the ms.
local function listed(left)
    local names, parts = {}, {}
    for name in pairs(left) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do parts[#parts + 1] = name .. ':' .. int(left[name]) end
    return table.concat(parts, ' '), table.concat(names, ' ')
end

-- A version past every one that a shard may have given by itself when a typist ran out.
local function typingVersion(typingKey, version, lapsed)
    local raised = nextVersion(math.max(version, lapsed), floorKey)
    redis.call('HSET', typingKey, '#', int(raised))
    return raised
end
