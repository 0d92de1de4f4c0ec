-- Shared by scripts that change profiles. The register is {"version":VERSION,BODY; its members are in BODY only,
-- encoded.
local profileMembers = { 'displayName', 'username', 'photoURL', 'thumbnailURL', 'timezone', 'locale' }

-- The members of a BODY by name. Each is a string or a number.
local function membersOf(body)
    local members, at = {}, 1
    while true do
        local name, first = string.match(body, '^"(%a+)":()', at)
        if not name then return members end
        local last
        if string.byte(body, first) == 34 then
            last = string.find(body, '["\\]', first + 1)
            -- A backslash and the character that it escapes.
            while last and string.byte(body, last) == 92 do last = string.find(body, '["\\]', last + 2) end
        else
            last = string.match(body, '^%d+()', first)
            last = last and last - 1
        end
        if not last then return members end
        members[name] = string.sub(body, first, last)
        at = last + 2
    end
end

-- Changes members: `changes` has encoded values by member, '' to remove. If anything differs, publishes "F user version
-- at BODY" to watchers. Returns version and BODY.
local function changeProfile(channel, user, userKey, floorKey, changes)
    local held = redis.call('HMGET', userKey, 'profileVersion', 'profile', 'createdAt')
    local values, changed = membersOf(held[2] or ''), not held[1]
    -- With another picture than the uploaded one, the thumbnail is removed, and the uploaded files have no owner any
    -- more.
    local photo = changes.photoURL
    -- The client may send back the address that it has received for the uploaded picture. Only the end of it is stored.
    local file = string.match(values.photoURL or '', '^"photo:(.+)"$')
    if photo and file and string.sub(photo, -#file - 12) == '/v1/photos/' .. file .. '"' then
        photo, changes.photoURL = nil, nil
    end
    if photo and photo ~= (values.photoURL or '') and not changes.thumbnailURL then
        changes.thumbnailURL = ''
        redis.call('HDEL', userKey, 'photo')
    end
    for member, value in pairs(changes) do
        if (values[member] or '') ~= value then
            changed = true
            values[member] = value ~= '' and value or nil
        end
    end
    if not changed then return held[1], held[2] end

    local parts = {}
    for _, member in ipairs(profileMembers) do
        if values[member] then parts[#parts + 1] = '"' .. member .. '":' .. values[member] end
    end
    parts[#parts + 1] = '"createdAt":' .. (values.createdAt or int(now))
    parts[#parts + 1] = '"updatedAt":' .. int(now)
    local body = table.concat(parts, ',') .. '}'
    local version = int(nextVersion(held[1], floorKey))
    redis.call('HSET', userKey, 'profileVersion', version, 'profile', body)
    -- Before layout 2 the members were also fields.
    if held[3] then redis.call('HDEL', userKey, 'createdAt', unpack(profileMembers)) end
    publish(channel, 'F', user, version, int(now), body)
    return version, body
end
