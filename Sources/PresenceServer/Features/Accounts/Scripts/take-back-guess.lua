-- flags: allow-oom
-- uses: guess-lib
-- A try that was counted was not looked at, and never will be: it is no failure. If the failures were forgotten since, it was with
-- them, and nothing is taken from those that came after: "BEGAN" is another.
-- keys: guesses
-- args: memory for a hundred failures in ms, wasBlocked BLOCKED after it was counted, hadBegun BEGAN then
-- replies: OK | FENCED
local memory = tonumber(memory)
local failures, blocked, began = guesses(guessesKey)
if began ~= hadBegun then return { 'OK' } end
failures = failures - 1
if failures < 1 then
    redis.call('DEL', guessesKey)
    return { 'OK' }
end
if int(blocked) == wasBlocked then
    -- No other was counted after it, and when it was, no pause was left.
    blocked = 0
else
    blocked = math.min(blocked, now + guessPause(failures, memory))
end
putGuesses(guessesKey, failures, blocked, began, memory)
return { 'OK' }
