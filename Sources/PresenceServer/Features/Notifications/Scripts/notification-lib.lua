-- A user's notifications are two hashes:
--   notifications       `index`, and each notification under its seq, as JSON without the last brace. It expires with the
--                       newest of them.
--   notificationMarks   `last` (the newest seq that was given), `seen` (up to), `version`, `kept` (1: there is an index)
-- The index has 29 bytes for each, oldest first: one of the states (u unread, r read, x replaced or archived: then only its
-- id is known, p for its push alone: then it is not in the list, and `push SEQ` has it until the push is decided), which come first,
-- and a record: 8 bytes of its id's hash, 8 of that of its collapse (zeros: none), and 6 each
-- of its seq and its time. Only functions of C read all of it.
local RECORD, NONE = 28, string.rep('\0', 8)

local function short(text)
    local hash = redis.sha1hex(text)
    return struct.pack('>I4I4', tonumber(string.sub(hash, 1, 8), 16), tonumber(string.sub(hash, 9, 16), 16))
end

local function stateOf(b, i) return string.sub(b.states, i, i) end
local function seqOf(b, i) return (struct.unpack('>I6', b.records, (i - 1) * RECORD + 17)) end
local function timeOf(b, i) return (struct.unpack('>I6', b.records, (i - 1) * RECORD + 23)) end
local function countOf(text, pattern) return select(2, string.gsub(text, pattern, '')) end

-- `told`: when it was pushed, if it is the notification of a message. By that clock it is not older.
local function append(b, id, collapse, seq, told)
    b.states = b.states .. 'u'
    b.records = b.records .. id .. collapse .. struct.pack('>I6I6', seq, math.max(now, told or 0))
    b.changed = true
end

local function setState(b, i, state)
    b.states = string.sub(b.states, 1, i - 1) .. state .. string.sub(b.states, i + 1)
    b.changed = true
end

local function forget(b, i)
    b.gone[#b.gone + 1] = (stateOf(b, i) == 'p' and 'push ' or '') .. int(seqOf(b, i))
end

local function drop(b, i)
    if stateOf(b, i) ~= 'x' then forget(b, i) end
    b.states = string.sub(b.states, 1, i - 1) .. string.sub(b.states, i + 1)
    b.records = string.sub(b.records, 1, (i - 1) * RECORD) .. string.sub(b.records, i * RECORD + 1)
    b.changed = true
end

-- Its text is removed; its id stays known.
local function retire(b, i) forget(b, i) setState(b, i, 'x') end -- mutation: id-stays-known

-- The next place, from one on, of some bytes that begin at `offset` of a record; nil if no record has them.
local function find(b, bytes, offset, from)
    local at = (from - 1) * RECORD + offset
    while true do
        at = string.find(b.records, bytes, at, true)
        if not at then return nil end
        if (at - offset) % RECORD == 0 then return (at - offset) / RECORD + 1 end
        at = at + 1
    end
end

-- The first place with a seq beyond this one.
local function placeAfter(b, seq)
    local low, high = 1, #b.states + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        if seqOf(b, middle) > seq then high = middle else low = middle + 1 end
    end
    return low
end

-- Removes notifications that are too old, and the oldest beyond `keep`. As many ids are kept without their notifications.
local function trim(b, keep, keepFor)
    while b.states ~= '' and timeOf(b, 1) <= now - keepFor do drop(b, 1) end
    for _ = keep + 1, countOf(b.states, '[xp]') do drop(b, string.find(b.states, '[xp]')) end
    for _ = keep + 1, countOf(b.states, '[ur]') do drop(b, string.find(b.states, '[ur]')) end
end

local function notificationsAt(entriesKey, marksKey, floorKey, keep, keepFor)
    local marks = redis.call('HMGET', marksKey, 'last', 'seen', 'version', 'kept')
    local index = redis.call('HGET', entriesKey, 'index') or ''
    local length = #index / (RECORD + 1)
    -- Marks that are no numbers count for nothing: the index and the clock are enough to continue.
    local b = { entries = entriesKey, marks = marksKey, floor = floorKey, last = tonumber(marks[1] or '0') or 0,
        seen = tonumber(marks[2] or '0') or 0, version = tonumber(marks[3] or '0') or 0,
        states = string.sub(index, 1, length), records = string.sub(index, length + 1), gone = {}, changed = false }
    -- A seq is given once, also if the marks are lost.
    if length > 0 then b.last = math.max(b.last, seqOf(b, length)) end
    -- All of it has expired.
    if length == 0 and marks[4] == '1' then b.changed = true end
    trim(b, keep, keepFor)
    return b
end

-- How many are unseen, how many unread, and the oldest that is kept: computed, never counted.
local function countsOf(b)
    local first = string.find(b.states, '[ur]')
    local unseen = countOf(string.sub(b.states, placeAfter(b, b.seen)), '[ur]')
    local unread = countOf(b.states, 'u') -- mutation: unread-alone
    local oldest = first and seqOf(b, first) or b.last + 1 -- mutation: oldest-kept
    return unseen, unread, oldest
end

local function list(seqs) return #seqs > 0 and table.concat(seqs, ',') or '-' end

-- Writes a change with a version of its own, and publishes it to all of the user's sessions:
-- "I user version at PREVIOUS UNSEEN UNREAD SEEN FIRST SESSION REPLACES READ ARCHIVED ITEM". PREVIOUS is the version before: a
-- session with an older one has missed something. SESSION (or -) asked for the change; the lists are of seqs with commas (or -);
-- ITEM is a new notification, as it is kept, or nothing.
local function save(b, channel, user, news)
    if #b.gone > 0 then redis.call('HDEL', b.entries, unpack(b.gone)) end
    if b.states == '' then
        redis.call('DEL', b.entries)
    else
        redis.call('HSET', b.entries, 'index', b.states .. b.records)
    end
    local previous = b.version
    b.version = nextVersion(previous, b.floor) -- mutation: counts-have-a-version
    redis.call('HSET', b.marks, 'last', int(b.last), 'seen', int(b.seen), 'version', int(b.version),
        'kept', b.states ~= '' and '1' or '0')
    local unseen, unread, first = countsOf(b)
    local before = int(previous) -- mutation: version-before
    redis.call('PUBLISH', channel, table.concat({ 'I', user, int(b.version), int(now), before, int(unseen), int(unread),
        int(b.seen), int(first), news.session or '-', list(news.replaces or {}), list(news.read or {}),
        list(news.archived or {}), news.item or '' }, ' '))
end
