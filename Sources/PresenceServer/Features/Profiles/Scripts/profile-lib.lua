-- What scripts that change profiles share. Members are kept encoded; the register is {"version":VERSION,BODY.
local profileMembers = { 'displayName', 'username', 'photoURL', 'thumbnailURL', 'timezone', 'locale' }

-- `changes`: encoded values by member, '' to remove. Tells watchers "F user version at BODY" if anything differs. Returns
-- version and BODY.
local function changeProfile(channel, user, userKey, floorKey, changes)
    local held = redis.call('HMGET', userKey, 'profileVersion', 'profile', 'createdAt', unpack(profileMembers))
    local values, changed = {}, not held[1]
    for i, member in ipairs(profileMembers) do values[member] = held[i + 3] end
    -- Another picture than the one that was uploaded: its thumbnail goes, and its files are nobody's.
    local photo = changes.photoURL
    if photo and photo ~= (values.photoURL or '') and not changes.thumbnailURL then
        changes.thumbnailURL = ''
        redis.call('HDEL', userKey, 'photo')
    end
    for member, value in pairs(changes) do
        value = value ~= '' and value or false
        if values[member] ~= value then
            changed = true
            values[member] = value
            if value then
                redis.call('HSET', userKey, member, value)
            else
                redis.call('HDEL', userKey, member)
            end
        end
    end
    if not changed then return held[1], held[2] end

    local createdAt = held[3] or int(now)
    local parts = {}
    for _, member in ipairs(profileMembers) do
        if values[member] then parts[#parts + 1] = '"' .. member .. '":' .. values[member] end
    end
    parts[#parts + 1] = '"createdAt":' .. createdAt
    parts[#parts + 1] = '"updatedAt":' .. int(now)
    local body = table.concat(parts, ',') .. '}'
    local version = int(nextVersion(held[1], floorKey))
    redis.call('HSET', userKey, 'profileVersion', version, 'profile', body, 'createdAt', createdAt)
    publish(channel, 'F', user, version, int(now), body)
    return version, body
end
