-- The bans of a partition, for the list of all bans: a sorted set whose entries have equal scores, so that Redis sorts them by
-- their bytes: "USER SCOPE UNTIL AT REASON". SCOPE is `all`, or `conversation:ID`. A ban that is over stays until it is replaced
-- or a list meets it: the field that decides is in the record of the user or conversation.

local function rowOf(user, scope, limit, reason)
    return table.concat({ user, scope, limit, int(now), reason }, ' ')
end

-- Removes the ban's entry. Neither part has a space, and `!` is the character after it. Returns its end, or nil.
local function dropRow(key, user, scope)
    local found = redis.call('ZRANGEBYLEX', key, '[' .. user .. ' ' .. scope .. ' ', '(' .. user .. ' ' .. scope .. '!')
    for _, row in ipairs(found) do redis.call('ZREM', key, row) end
    return found[1] and tonumber(string.match(found[1], '^%S+ %S+ (%d+)'))
end

local function putRow(key, user, scope, limit, reason)
    dropRow(key, user, scope)
    redis.call('ZADD', key, 0, rowOf(user, scope, limit, reason))
end

-- The ban for other servers: as the list has it, apart from its user.
local noEnd = '9007199254740991'
local function bannedJSON(scope, limit, reason)
    local body = '{"scope":"' .. scope .. '"'
    if reason then body = body .. ',"reason":' .. reason end
    if limit and limit ~= noEnd then body = body .. ',"until":' .. limit end
    return body .. '}'
end
