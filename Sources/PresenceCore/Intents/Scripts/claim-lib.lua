-- A claim is a string "OWNER NUMBER"; the number is that of the wish by which it came. The owner's record is a hash:
--   last    the last number that was given; numbers only grow
--   wish    the number of the wish that is open; nothing if none is
--   wanted, wantedAs    the thing that is wished for, and how it is shown; nothing: none is wanted
--   claim   the number of the last wish that was fulfilled
--   held, heldAs        the thing that is held, and how it is shown; nothing if none is
--   releasing           "NUMBER THING": what the open wish gives up, once it is fulfilled

-- Fulfils the wish with this number: what is wanted is held from now on, in one moment.
-- Returns the reply of a kind's script, and whether anything changed: {OK, releasing}, also if it was fulfilled before, or
-- {GONE, last} if the wish is over and was not.
local function fulfil(record, number)
    local values = redis.call('HMGET', record, 'wish', 'wanted', 'wantedAs', 'claim', 'held', 'releasing', 'last')
    local wish, wanted, shown, claim, held = values[1], values[2], values[3], values[4], values[5]
    if claim == number then return { 'OK', wish == number and values[6] or '' }, false end
    if wish ~= number then return { 'GONE', values[7] or '0' }, false end
    local releasing = held and held ~= wanted and claim .. ' ' .. held or ''
    if releasing ~= '' then redis.call('HSET', record, 'releasing', releasing) end
    redis.call('HSET', record, 'claim', number)
    if wanted then
        redis.call('HSET', record, 'held', wanted, 'heldAs', shown)
    else
        redis.call('HDEL', record, 'held', 'heldAs')
    end
    return { 'OK', releasing }, true
end
