-- A conversation is one hash:
--   kind        direct or group
--   creator     the user who made it, if a user made it as a group
--   createdAt, owner (of a group), name and metadata (JSON), pair (of a direct one: both members)
--   first, last the numbers of the oldest and the newest message that are kept; last is 0 before the first one
--   changes     the number of the last change of its messages
--   message     the newest message, as its log has it
--   priority    the numbers of its newest messages with priority
--   request     of a direct one that a stranger began: the member who has not answered yet; "USER ?" until their settings
--               are known
--   deleted     the numbers of deleted messages from the first one on that some member has not read, as ranges: "3 5-9"
--   joins       how many users have ever joined
--   version     of what all members see
--   m:USER      "JOINED READ SHOWN DELIVERED OWN VERSION MUTED ARCHIVED RECEIPTS SETTING": the place in the order of joining;
--               marks (read, what others see of it, delivered); the number of the newest message of their own; the version
--               of what they alone see; the end of the mute (0: not muted, -1: until they unmute); since when it is archived
--               (0: not); whether others see what they have read (e or n), and the number of that setting
--   h:USER      from whom their deliveries are hidden: "ALL USER SEQ USER SEQ …", the number that each of them sees instead,
--               and ALL for all other members (-: the true number)
--   b:USER      their ban, as in lib.lua, whether they are a member or not; no event has it
--   j:USER      the version at which they joined or left, until their inbox is updated
-- After its end, first, last, changes, version and bans stay for a year: the id may be used again, and the numbers continue, so
-- that clients do not take new messages for those that were deleted.
local endedFor = 366 * 24 * 3600000

-- A member is parsed when it is read or written: most scripts change one of many.
local function parse(m)
    setmetatable(m, nil)
    local joined, read, shown, delivered, own, version, muted, archived, receipts, setting =
        string.match(m.value, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%-?%d+) (%d+) (%a) (%d+)$')
    m.joined, m.read, m.shown, m.delivered = tonumber(joined), tonumber(read), tonumber(shown), tonumber(delivered)
    m.own, m.version, m.muted, m.archived = tonumber(own), tonumber(version), tonumber(muted), tonumber(archived)
    m.receipts, m.setting, m.value = receipts, tonumber(setting), nil
    return m
end

local unparsed = {
    __index = function(m, name) return parse(m)[name] end,
    __newindex = function(m, name, value) parse(m)[name] = value end,
}

-- The conversation as stored: `members` by name, `size` of them, and `pending` versions by name. Without members if it
-- does not exist.
local function conversationAt(key, id)
    local c = { key = key, id = id, raw = {}, changed = {}, members = {}, size = 0, pending = {}, left = {}, joining = {},
        bans = {}, only = nil }
    local fields = redis.call('HGETALL', key)
    for i = 1, #fields, 2 do
        local field, value = fields[i], fields[i + 1]
        local letter, colon = string.byte(field, 1, 2)
        if colon == 58 and letter == 109 then
            c.members[string.sub(field, 3)] = setmetatable({ value = value }, unparsed)
            c.size = c.size + 1
            c.raw[field] = value
        elseif colon == 58 and letter == 106 then
            c.pending[string.sub(field, 3)] = value
        elseif colon == 58 and letter == 98 then
            c.bans[string.sub(field, 3)] = value
        else
            c.raw[field] = value
        end
    end
    c.hasEnded = #fields > 0 and not c.raw.kind
    c.exists = #fields > 0 and not c.hasEnded
    c.first = tonumber(c.raw.first or '1')
    c.last = tonumber(c.raw.last or '0')
    c.changes = tonumber(c.raw.changes or '0')
    c.version = tonumber(c.raw.version or '0')
    return c
end

-- `value` is a string, or nil to remove the field.
local function setField(c, field, value)
    if c.raw[field] == value then return end
    c.raw[field] = value
    c.changed[field] = true
end

-- Without members, only the numbers of the messages stay. The deletion is a change that is not logged, so clients that
-- have the messages must start again if the id is used again.
local function empty(c, log, changes, prints, attachments, due)
    if next(c.members) then return end
    redis.call('DEL', log, changes, prints)
    releaseAll(attachments, due, c.id)
    c.changes = c.changes + 1
    setField(c, 'changes', int(c.changes))
    setField(c, 'first', int(c.last + 1))
    setField(c, 'message', nil)
    setField(c, 'priority', nil)
    setField(c, 'deleted', nil)
end

local function setMember(c, user)
    local m = c.members[user]
    setField(c, 'm:' .. user, table.concat({ int(m.joined), int(m.read), int(m.shown), int(m.delivered), int(m.own),
        int(m.version), int(m.muted), int(m.archived), m.receipts, int(m.setting) }, ' '))
end

-- The place of a member in the order of joining: the first number of one that is not parsed.
local function joinedAt(m) return tonumber(string.match(rawget(m, 'value') or '', '^%d+')) or m.joined end

-- The members in no order.
local function namesOf(c)
    local names = {}
    for name in pairs(c.members) do names[#names + 1] = name end
    return names
end

-- The members in the order of joining.
local function membersOf(c)
    local names, places = namesOf(c), {}
    for _, name in ipairs(names) do places[name] = joinedAt(c.members[name]) end
    table.sort(names, function(a, b) return places[a] < places[b] end)
    return names
end

-- The version of what only this member has seen. The end of a timed mute was a change too, after all earlier ones and
-- not before its time.
local function ownVersion(c, m)
    local value, version, muted = rawget(m, 'value')
    if value then
        version, muted = string.match(value, '^%d+ %d+ %d+ %d+ %d+ (%d+) (%-?%d+)')
        version, muted = tonumber(version), tonumber(muted)
    else
        version, muted = m.version, m.muted
    end
    if muted > 0 and muted < now then return math.max(version, c.version, muted) + 1 end
    return version
end

-- Adds a member, who has nothing to catch up with.
local function join(c, user)
    local joins = tonumber(c.raw.joins or '0') + 1
    setField(c, 'joins', int(joins))
    c.members[user] = { joined = joins, read = c.last, shown = c.last, delivered = c.last, own = 0, version = 0, muted = 0,
        archived = 0, receipts = 'e', setting = 0 }
    setMember(c, user)
    c.left[user], c.joining[user] = nil, true
end

-- Removes a member. The version they alone have seen may be ahead, and that of the removal must be above it.
local function leave(c, user)
    c.seen = math.max(c.seen or 0, ownVersion(c, c.members[user]))
    c.members[user] = nil
    setField(c, 'm:' .. user, nil)
    setField(c, 'h:' .. user, nil)
    if string.match(c.raw.request or '', '^%S+') == user then setField(c, 'request', nil) end
    c.left[user], c.joining[user] = true, nil
end

-- Takes a version above all that any member has seen.
local function bump(c)
    local last = math.max(c.version, c.seen or 0)
    for _, m in pairs(c.members) do last = math.max(last, ownVersion(c, m)) end
    c.version = nextVersion(last, floorKey)
    c.news, c.only = c.version, nil
    setField(c, 'version', int(c.version))
end

-- Takes a version of what only this member sees. Other members do not learn that there is one.
local function bumpMember(c, user)
    local m = c.members[user]
    m.version = nextVersion(math.max(ownVersion(c, m), c.seen or 0, c.version), floorKey)
    c.news, c.only = m.version, c.only or {}
    c.only[user] = true
    setMember(c, user)
end

-- Whether the conversation is a request that this member has not answered. Until then nothing of them reaches the other
-- member.
local function isAsked(c, user) return c.raw.request == user or c.raw.request == user .. ' ?' end

-- A member answers a request.
local function acceptRequest(c, user)
    if not isAsked(c, user) then return end
    setField(c, 'request', nil)
    local m = c.members[user]
    if m.receipts == 'e' then m.shown = m.read end
    setMember(c, user)
end

-- Updates `deleted` after a deletion (`added`), read marks, or the removal of old messages.
local function updateDeleted(c, added)
    if not added and not c.raw.deleted then return end
    local from, ranges, words = math.huge, {}, {}
    for _, m in pairs(c.members) do from = math.min(from, math.max(m.read, m.own) + 1) end
    from = math.max(from, c.first)
    local function add(low, high)
        if high < from then return end
        local last = ranges[#ranges]
        if last and low <= last.high + 1 then -- mutation: deleted-ranges
            last.high = math.max(last.high, high)
        else
            ranges[#ranges + 1] = { low = math.max(low, from), high = high }
        end
    end
    for low, high in string.gmatch(c.raw.deleted or '', '(%d+)%-?(%d*)') do
        low, high = tonumber(low), tonumber(high) or tonumber(low)
        if added and added < low then
            add(added, added)
            added = nil
        end
        add(low, high)
    end
    if added then add(added, added) end
    for i, range in ipairs(ranges) do
        words[i] = range.low == range.high and int(range.low) or int(range.low) .. '-' .. int(range.high)
    end
    setField(c, 'deleted', #words > 0 and table.concat(words, ' ') or nil)
end

-- Keeps only the numbers and bans, once there are no members and the last inbox is updated.
local function keepNumbers(c)
    if next(c.members) or next(c.pending) then return end
    redis.call('DEL', c.key)
    redis.call('HSET', c.key, 'first', int(c.last + 1), 'last', int(c.last), 'changes', int(c.changes),
        'version', int(c.version))
    for user, ban in pairs(c.bans) do redis.call('HSET', c.key, 'b:' .. user, ban) end
    redis.call('PEXPIRE', c.key, endedFor)
end

-- If the newest message (with its earlier texts) or the list of deleted ones is longer, events leave out both. Shards
-- where a member watches the list read them.
local mostPublished = 4096

-- Writes the changed fields, and publishes a new version to all shards: "N conversation version at", then "FIELD VALUE"
-- for each field, a line each, and "left USER" for users who have left; "partly 1" if fields are left out. No value has
-- a line feed. New members receive it once their inbox is updated (settle): otherwise a list that is read in between
-- would lack the conversation for good. They are "new USER" here, and "only USER" there.
local function saveAndPublish(c)
    local set, removed = {}, {}
    for field in pairs(c.changed) do
        if c.raw[field] then
            set[#set + 1] = field
            set[#set + 1] = c.raw[field]
        else
            removed[#removed + 1] = field
        end
    end
    if #set > 0 then redis.call('HSET', c.key, unpack(set)) end
    if #removed > 0 then redis.call('HDEL', c.key, unpack(removed)) end
    if c.hasEnded then redis.call('PERSIST', c.key) end
    if not c.news then return end
    local lines, message = {}, c.raw.message
    local isWhole = #(message or '') <= mostPublished and #(c.raw.deleted or '') <= mostPublished
    for field, value in pairs(c.raw) do
        if isWhole or field ~= 'message' and field ~= 'deleted' then lines[#lines + 1] = field .. ' ' .. value end
    end
    if not isWhole then lines[#lines + 1] = 'partly 1' end
    for user in pairs(c.joining) do lines[#lines + 1] = 'new ' .. user end
    for user in pairs(c.only or {}) do lines[#lines + 1] = 'only ' .. user end
    for user in pairs(c.left) do lines[#lines + 1] = 'left ' .. user end
    redis.call('PUBLISH', channel,
        table.concat({ 'N', c.id, int(c.news), int(now), table.concat(lines, '\n') }, ' '))
end

-- OK, then the fields and values, as HGETALL replies.
local function answer(c, ...)
    local reply = { 'OK', ... }
    for field, value in pairs(c.raw) do
        reply[#reply + 1] = field
        reply[#reply + 1] = value
    end
    return reply
end

-- Notes the users whose inboxes must get this version, together with the intent that updates them.
local function await(c, users, unfinishedKey, intent)
    for _, user in ipairs(users) do
        c.pending[user] = int(c.version)
        redis.call('HSET', c.key, 'j:' .. user, int(c.version))
    end
    if #users > 0 then redis.call('SADD', unfinishedKey, intent) end -- mutation: written-down
end

-- After a change of members: those who left stop typing, and watchers of typing and of messages receive the members, as
-- "C conversation version at participants …".
local function publishMembers(c, typingKey)
    for _, field in ipairs(redis.call('HKEYS', typingKey)) do
        if field ~= '#' and field ~= '#most' and not c.members[string.match(field, '^%S+')] then redis.call('HDEL', typingKey, field) end
    end
    local left, version, lapsed = typists(typingKey, true)
    version = typingVersion(typingKey, version, lapsed)
    redis.call('PEXPIRE', typingKey, 3600000)
    local names = table.concat(namesOf(c), ' ') -- mutation: leaver-watches
    redis.call('PUBLISH', channel, table.concat({ 'C', c.id, int(version), int(now), names }, ' '))
    publish(channel, 'T', c.id, int(version), int(now), (listed(left)))
end

-- The new owner is the member who has been in the group for longest.
local function succeed(c)
    if c.raw.kind ~= 'group' or c.members[c.raw.owner] then return end
    local first, place
    for name, m in pairs(c.members) do
        local joined = joinedAt(m)
        if not place or joined < place then first, place = name, joined end
    end
    setField(c, 'owner', first) -- mutation: successor
end
