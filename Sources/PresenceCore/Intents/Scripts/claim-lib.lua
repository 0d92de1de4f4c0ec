-- A claim is a string "OWNER NUMBER"; the number is that of the wish by which it came. It is a field of a hash, by the thing's
-- name. The owner's record is a hash, in which there may be other fields as well:
--   wish    the number of the wish that is open; nothing if none is
--   last    the number of a refused wish, if it is the last number that was given; numbers only grow
--   wanted, wantedAs    the thing that is wished for, and how it is shown; nothing: none is wanted
--   claim   the number of the last wish that was fulfilled
--   held, heldAs        the thing that is held, and how it is shown if that differs; nothing if none is
--   releasing           "NUMBER THING": what the open wish gives up, once it is fulfilled; two of them if the one before was
--                       abandoned

-- The last number that was given. Each of the three is the largest if it is there and those before it are not.
local function lastNumber(wish, last, claim) return wish or last or claim or '0' end

-- What a record consists of, beside what else its hash holds.
local recordFields = { 'wish', 'last', 'wanted', 'wantedAs', 'claim', 'held', 'heldAs', 'releasing' }

-- Fields and values of a record, as `HSET` takes them.
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

-- How what is held is shown; false if nothing is.
local function shownOf(record)
    local values = redis.call('HMGET', record, 'heldAs', 'held')
    return values[1] or values[2]
end

-- Fulfils the wish with this number: what is wanted is held from now on, in one moment.
-- Returns the reply of a kind's script, and whether anything changed: {OK, releasing}, also if it was fulfilled before, or
-- {GONE, last} if the wish is over and was not.
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

-- The owner has been deleted: what is held is given up, by a new wish for nothing that any server carries out. A wish that is open
-- is over; a claim that was taken for it is dropped by who took it, or by the sweep.
local function abandon(record, unfinished, intent)
    local values = redis.call('HMGET', record, 'wish', 'wanted', 'held', 'last', 'claim')
    local wish, wanted, held = values[1], values[2], values[3]
    if not wanted and (wish or not held) then return end
    local number = int(nextVersion(lastNumber(wish, values[4], values[5]), floorKey))
    redis.call('HSET', record, 'wish', number)
    redis.call('HDEL', record, 'wanted', 'wantedAs')
    redis.call('SADD', unfinished, intent)
end
