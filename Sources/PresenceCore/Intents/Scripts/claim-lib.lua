-- A claim is a string "OWNER NUMBER", stored in a hash under the thing's name; NUMBER is that of the wish that made the
-- claim. The owner's record is a hash that may have other fields too:
--   wish    the number of the open wish; absent if none is open
--   last    the number of a rejected wish, if it is the last number that was given; numbers only grow
--   wanted, wantedAs    the wanted thing and its spelling as shown; absent if the wish is for none
--   claim   the number of the last fulfilled wish
--   held, heldAs        the owned thing, and its spelling as shown if that differs; absent if there is none
--   releasing           "NUMBER THING": claims that the open wish releases once it is fulfilled; two if the one before was
--                       abandoned

-- The last number that was given. The first of the three that is set is the largest.
local function lastNumber(wish, last, claim) return wish or last or claim or '0' end

-- The fields that make up a record; the hash may have others.
local recordFields = { 'wish', 'last', 'wanted', 'wantedAs', 'claim', 'held', 'heldAs', 'releasing' }

-- A record's fields and values, as arguments of `HSET`.
local function recordOf(record)
    local kept = {}
    for i, value in ipairs(redis.call('HMGET', record, unpack(recordFields))) do
        if value then
            kept[#kept + 1] = recordFields[i]
            kept[#kept + 1] = value
        end
    end
    return kept
end

local function dropRecord(record) redis.call('HDEL', record, unpack(recordFields)) end

-- The spelling of the owned thing as shown; false if there is none.
local function shownOf(record)
    local values = redis.call('HMGET', record, 'heldAs', 'held')
    return values[1] or values[2]
end

-- Fulfils the wish with this number: from now on the owner has the wanted thing.
-- Returns a script's reply and whether anything changed. The reply is {OK, releasing}, also if the wish was fulfilled
-- before, or {GONE, last} if the wish was closed without being fulfilled.
local function fulfil(record, number)
    local values = redis.call('HMGET', record, 'wish', 'wanted', 'wantedAs', 'claim', 'held', 'releasing', 'last')
    local wish, wanted, shown, claim, held = values[1], values[2], values[3], values[4], values[5]
    if claim == number then return { 'OK', wish == number and values[6] or '' }, false end
    if wish ~= number then -- mutation: wish-is-open
        return { 'GONE', lastNumber(wish, values[7], claim) }, false
    end
    local releasing = values[6] or ''
    if held and held ~= wanted then
        releasing = (releasing ~= '' and releasing .. ' ' or '') .. claim .. ' ' .. held
        redis.call('HSET', record, 'releasing', releasing)
    end
    if not wanted then
        redis.call('HSET', record, 'claim', number)
        redis.call('HDEL', record, 'held', 'heldAs', 'last')
    elseif shown == wanted then
        redis.call('HSET', record, 'claim', number, 'held', wanted)
        redis.call('HDEL', record, 'heldAs', 'last')
    else
        redis.call('HSET', record, 'claim', number, 'held', wanted, 'heldAs', shown)
        redis.call('HDEL', record, 'last')
    end
    return { 'OK', releasing }, true
end

-- For a deleted owner: a new wish for nothing, which any server carries out, releases the owned thing. It replaces an
-- open wish; a claim made for that one is dropped by its executor or by the sweep.
local function abandon(record, unfinished, intent)
    local values = redis.call('HMGET', record, 'wish', 'wanted', 'held', 'last', 'claim')
    local wish, wanted, held = values[1], values[2], values[3]
    if not wanted and (wish or not held) then return end
    local number = int(nextVersion(lastNumber(wish, values[4], values[5]), floorKey))
    redis.call('HSET', record, 'wish', number)
    redis.call('HDEL', record, 'wanted', 'wantedAs')
    redis.call('SADD', unfinished, intent)
end
