-- flags: allow-oom
-- uses: guess-lib
-- A try that was counted was not looked at, and never will be: it is no failure. If the failures were forgotten since, it was with
-- them, and nothing is taken from those that came after: "BEGAN" is another.
-- KEYS: shards, guesses
-- ARGV: now, incarnation, how long a hundred failures are remembered, BLOCKED and BEGAN as they were after it was counted
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[2]) then return { 'FENCED' } end
local memory = tonumber(ARGV[3])
local failures, blocked, began = guesses(KEYS[2])
if began ~= ARGV[5] then return { 'OK' } end
failures = failures - 1
if failures < 1 then
    redis.call('DEL', KEYS[2])
    return { 'OK' }
end
if int(blocked) == ARGV[4] then
    -- No other was counted after it, and when it was, no pause was left.
    blocked = 0
else
    blocked = math.min(blocked, now + guessPause(failures, memory))
end
putGuesses(KEYS[2], failures, blocked, began, memory)
return { 'OK' }
