-- flags: allow-oom
-- uses: guess-lib
-- Takes back a counted attempt that was not checked and never will be, so it is no failure. If the failures were cleared since,
-- so was this attempt; BEGAN then differs, and later failures are not reduced.
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
    -- No attempt was counted after it, and no pause was in effect when it was.
    blocked = 0
else
    blocked = math.min(blocked, now + guessPause(failures, memory))
end
putGuesses(guessesKey, failures, blocked, began, memory)
return { 'OK' }
