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

-- A name as the directory compares it: in lower case (of Latin, Greek and Cyrillic letters), and at most 64 bytes.
local function folded(name)
    name = string.gsub(string.lower(name), '[\195-\208][\128-\191]', function(letter)
        local code, by = (string.byte(letter) - 192) * 64 + string.byte(letter, 2) - 128, 0
        if code >= 192 and code <= 222 and code ~= 215 or code >= 913 and code <= 937 or code >= 1040 and code <= 1071 then
            by = 32
        elseif code >= 1024 and code <= 1039 then
            by = 80
        elseif (code >= 256 and code <= 311 and code ~= 304 or code >= 330 and code <= 375) and code % 2 == 0 then
            by = 1
        elseif (code >= 313 and code <= 328 or code >= 377 and code <= 382) and code % 2 == 1 then
            by = 1
        end
        code = code + by
        return string.char(192 + math.floor(code / 64), 128 + code % 64)
    end)
    return string.sub(name, 1, 64)
end

-- Puts a user's names into the directory in the place of earlier ones, both by member: "NAME \31 USER \31 KIND", without the
-- spaces. KIND is u for the username and n for the display name.
local function enlist(directoryKey, user, before, after)
    for _, kind in ipairs({ 'username', 'displayName' }) do
        local function entry(value)
            local name = value and string.gsub(string.sub(value, 2, -2), '\\(.)', '%1')
            return name and table.concat({ folded(name), user, kind == 'username' and 'u' or 'n' }, '\31')
        end
        local old, new = entry(before[kind]), entry(after[kind])
        if old and old ~= new then redis.call('ZREM', directoryKey, old) end
        if new then redis.call('ZADD', directoryKey, 0, new) end
    end
end

-- Changes members: `changes` has encoded values by member, '' to remove. If anything differs, publishes "F user version
-- at BODY" to watchers. Returns version and BODY. Names are only changed with the key of the directory.
local function changeProfile(channel, user, userKey, floorKey, changes, directoryKey)
    local held = redis.call('HMGET', userKey, 'profileVersion', 'profile', 'createdAt')
    local values, changed = membersOf(held[2] or ''), not held[1]
    local before = { username = values.username, displayName = values.displayName }
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
    if directoryKey then enlist(directoryKey, user, before, values) end
    -- Before layout 2 the members were also fields.
    if held[3] then redis.call('HDEL', userKey, 'createdAt', unpack(profileMembers)) end
    publish(channel, 'F', user, version, int(now), body)
    return version, body
end
