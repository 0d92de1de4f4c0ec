-- Functions for scripts that count password attempts. The record of an address is "FAILURES BLOCKED BEGAN": BLOCKED is the end
-- of the pause, BEGAN the time of the first attempt ('' in records of earlier builds).

local function guesses(key)
    local failures, blocked, began = string.match(redis.call('GET', key) or '', '^(%d+) (%d+) ?(%d*)$')
    return tonumber(failures or '0'), tonumber(blocked or '0'), began or ''
end

-- A hundred failures are remembered for the whole time, fewer for their share of it.
local function putGuesses(key, failures, blocked, began, memory)
    redis.call('SET', key, table.concat({ int(failures), int(blocked), began }, ' '), 'PX',
        int(memory * math.min(failures, 100) / 100))
end

-- The pause after this number of failures.
local function guessPause(failures, memory)
    if failures >= 100 then return memory end
    return failures >= 5 and math.min(60000, 1000 * 2 ^ math.min(failures - 5, 6)) or 0
end
