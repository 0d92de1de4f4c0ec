-- A message is stored as "ID SEQ VERSION AT FROM EDITEDAT EDITCOUNT DELETEDAT DELETEDBY", then, after a \31 each: text,
-- attachments (or nothing) and priority (or nothing) as JSON, then "AT TEXT" of each earlier text, the newest last.
-- Fields that do not apply are 0, or - for a user. No part has a \31: JSON escapes it.
--   log      list of a conversation's messages, first to last
--   prints   8 bytes for each of them: 4 of its id's hash, 4 of the hash of its first content
--   changes  list: the message of each of the newest changes, up to the conversation's `changes`

local function hash(text) return struct.pack('>I4', tonumber(string.sub(redis.sha1hex(text), 1, 8), 16)) end

-- Senders choose ids and texts, and could choose some with equal hashes. So `send` rejects an id whose hash is at more
-- places of the prints than this, and no search tests more than a few more: up to three matches may have appeared since
-- the message was sent, which begin before its own place and reach into it.
local mostPlaces = 16

-- Returns the message with this id, the hash of its first content, and its index in the log. Otherwise nil, and the
-- number of places where its hash was found.
local function find(logKey, printsKey, id)
    local prints, wanted, at, places = redis.call('GET', printsKey) or '', hash(id), 1, 0
    while places <= mostPlaces + 3 do
        at = string.find(prints, wanted, at, true)
        if not at then break end
        if (at - 1) % 8 == 0 then
            local raw = redis.call('LINDEX', logKey, (at - 1) / 8)
            if raw and string.match(raw, '^%S+') == id then
                return raw, string.sub(prints, at + 4, at + 7), (at - 1) / 8
            end
        end
        at, places = at + 1, places + 1
    end
    return nil, places
end

-- Incomplete logs are not written to: new messages would stand at other places than their numbers.
local notWhole = 'DAMAGED the messages of a conversation are not all there'
local function isWhole(c, logKey) return redis.call('LLEN', logKey) == c.last - c.first + 1 end

local function split(text, separator)
    local parts, from = {}, 1
    while true do
        local at = string.find(text, separator, from, true)
        if not at then break end
        parts[#parts + 1] = string.sub(text, from, at - 1)
        from = at + 1
    end
    parts[#parts + 1] = string.sub(text, from)
    return parts
end

local function message(raw)
    local parts = split(raw, '\31')
    local words = split(parts[1], ' ')
    local m = { id = words[1], seq = words[2], version = words[3], at = words[4], from = words[5], editedAt = words[6],
        editCount = tonumber(words[7]), deletedAt = words[8], deletedBy = words[9], text = parts[2],
        attachments = parts[3], priority = parts[4], edits = {} }
    for i = 5, #parts do m.edits[#m.edits + 1] = parts[i] end
    return m
end

local function stored(m)
    local parts = { table.concat({ m.id, m.seq, m.version, m.at, m.from, m.editedAt, int(m.editCount), m.deletedAt,
        m.deletedBy }, ' '), m.text, m.attachments, m.priority }
    for _, edit in ipairs(m.edits) do parts[#parts + 1] = edit end
    return table.concat(parts, '\31')
end

-- An upper bound for the message as JSON, in bytes: names, numbers and ids, whose characters may need two bytes each.
local function size(m)
    local bytes = 256 + 2 * #m.id + 2 * #m.from + #m.text + #m.attachments + #m.priority
    for _, edit in ipairs(m.edits) do bytes = bytes + #edit + 16 end
    return bytes
end

-- Removes the oldest earlier texts until the message is short enough. Returns false if it is too long without any.
local function fit(m, most)
    while #m.edits > 0 and size(m) > most do table.remove(m.edits, 1) end
    return size(m) <= most
end

-- The reply to a change that needs a verdict: the verdict, `-` while a server asks for it, or ASK. For `ms` no other server
-- asks; -1 only looks.
local function undecided(verdictKey, ms)
    local verdict = redis.call('GET', verdictKey)
    if verdict then return { 'VERDICT', verdict } end -- mutation: verdict-is-kept
    if ms ~= '-1' then redis.call('SET', verdictKey, '-', 'PX', ms) end -- mutation: asked-at-a-time
    return { 'ASK' }
end

-- Numbers and publishes a change of a message: "M conversation change at MESSAGE".
local function publishChange(c, seq, raw, changesKey, keep)
    setField(c, 'changes', int(c.changes))
    redis.call('RPUSH', changesKey, int(seq))
    redis.call('LTRIM', changesKey, int(-keep - 1024), -1)
    publish(channel, 'M', c.id, int(c.changes), int(now), raw)
end

-- The numbers of messages with priority, newest last, without those for which `drop` is true.
local function priorities(c, drop)
    local kept = {}
    for seq in string.gmatch(c.raw.priority or '', '%d+') do
        if not drop(tonumber(seq)) then kept[#kept + 1] = seq end
    end
    return kept
end

local function sentAt(raw) return tonumber(string.match(raw, '^%S+ %d+ %d+ (%d+)')) end

-- Decrements the reference counts of the attachments in the `count` oldest messages.
local function releaseReferences(c, count, keys)
    if redis.call('EXISTS', keys.attachments) == 0 then return end
    for start = 0, count - 1, 50 do
        for _, raw in ipairs(redis.call('LRANGE', keys.log, start, math.min(start + 50, count) - 1)) do
            if string.find(raw, '/v1/attachments/', 1, true) then
                local m = message(raw)
                countReferences(keys.attachments, keys.due, c.id, m.from, m.attachments, -1)
            end
        end
    end
end

-- Removes the `count` oldest messages. Their changes stay counted.
local function forget(c, count, keys)
    releaseReferences(c, count, keys) -- mutation: gone-mentions-nothing
    redis.call('LTRIM', keys.log, count, -1)
    c.first = c.first + count
    setField(c, 'first', int(c.first))
    if c.first > c.last then
        redis.call('DEL', keys.prints, keys.changes)
        setField(c, 'message', nil)
    else
        redis.call('SET', keys.prints, redis.call('GETRANGE', keys.prints, 8 * count, -1))
    end
    local priority = priorities(c, function(seq) return seq < c.first end)
    setField(c, 'priority', #priority > 0 and table.concat(priority, ' ') or nil)
    updateDeleted(c)
end

-- Removes messages that were sent up to `limit`, the oldest first and at most `most`. They count as read for all
-- members, because no newer message may be left to clear them as unread; other members do not see that. Publishes "E
-- conversation first at", so that all shards drop their copies. Returns the number removed.
local function expire(c, limit, most, keys)
    local oldest = redis.call('LINDEX', keys.log, 0)
    if not oldest or sentAt(oldest) > limit then return 0 end
    local count, isOver = 0, false
    while count < most and not isOver do
        local raws = redis.call('LRANGE', keys.log, count, math.min(count + 50, most) - 1)
        if #raws == 0 then break end
        for _, raw in ipairs(raws) do
            isOver = sentAt(raw) > limit -- mutation: in-time
            if isOver then break end
            count = count + 1
        end
    end
    forget(c, count, keys)
    for user, m in pairs(c.members) do
        if m.read < c.first - 1 then
            m.read = c.first - 1 -- mutation: gone-is-read
            setMember(c, user)
        end
    end
    redis.call('PUBLISH', channel, table.concat({ 'E', c.id, int(c.first), int(now) }, ' '))
    return count
end

-- A longer message is offered without its earlier texts, which are most of it: external services receive up to 20 KB.
local mostOffered = 16384

-- Stores a changed message, and publishes the change.
local function rewrite(c, m, index, keys, keep)
    c.changes = c.changes + 1 -- mutation: change-is-numbered
    m.version = int(c.changes)
    local raw = stored(m)
    redis.call('LSET', keys.log, index, raw)
    if tonumber(m.seq) == c.last then setField(c, 'message', raw) end
    publishChange(c, tonumber(m.seq), raw, keys.changes, keep)
    bump(c) -- mutation: change-of-conversation
    saveAndPublish(c)
    if #raw > mostOffered then m.edits = {} end
    offer('message.changed', c.id .. ' ' .. stored(m))
    return raw
end
