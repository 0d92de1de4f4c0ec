-- A claim is a string "OWNER NUMBER"; the number is that of the wish by which it came. The owner's record is a hash:
--   last    the last number that was given; numbers only grow
--   wish    the number of the wish that is open; nothing if none is
--   wanted, wantedAs    the thing that is wished for, and how it is shown; nothing: none is wanted
--   claim   the number of the last wish that was fulfilled
--   held, heldAs        the thing that is held, and how it is shown; nothing if none is
--   releasing           "NUMBER THING": what the open wish gives up, once it is fulfilled; two of them if the one before was
--                       abandoned

-- Fulfils the wish with this number: what is wanted is held from now on, in one moment.
-- Returns the reply of a kind's script, and whether anything changed: {OK, releasing}, also if it was fulfilled before, or
-- {GONE, last} if the wish is over and was not.
local function fulfil(record, number)
    local values = redis.call('HMGET', record, 'wish', 'wanted', 'wantedAs', 'claim', 'held', 'releasing', 'last')
    local wish, wanted, shown, claim, held = values[1], values[2], values[3], values[4], values[5]
    if claim == number then return { 'OK', wish == number and values[6] or '' }, false end
    if wish ~= number then return { 'GONE', values[7] or '0' }, false end
    local releasing = values[6] or ''
    if held and held ~= wanted then
        releasing = (releasing ~= '' and releasing .. ' ' or '') .. claim .. ' ' .. held
        redis.call('HSET', record, 'releasing', releasing)
    end
    redis.call('HSET', record, 'claim', number)
    if wanted then
        redis.call('HSET', record, 'held', wanted, 'heldAs', shown)
    else
        redis.call('HDEL', record, 'held', 'heldAs')
    end
    return { 'OK', releasing }, true
end

-- The owner has been deleted: what is held is given up, by a new wish for nothing that any server carries out. A wish that is open
-- is over; a claim that was taken for it is dropped by who took it, or by the sweep.
local function abandon(record, unfinished, intent, floorKey)
    local values = redis.call('HMGET', record, 'wish', 'wanted', 'held', 'last')
    local wish, wanted, held = values[1], values[2], values[3]
    if not wanted and (wish or not held) then return end
    local number = int(nextVersion(values[4], floorKey))
    redis.call('HSET', record, 'last', number, 'wish', number)
    redis.call('HDEL', record, 'wanted', 'wantedAs')
    redis.call('SADD', unfinished, intent)
end
