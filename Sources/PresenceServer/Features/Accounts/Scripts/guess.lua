-- uses: guess-lib
-- Counts a password attempt for an address, with or without an account, before the password is checked. From the fifth failure
-- on there is a pause that doubles up to a minute; from the hundredth only a reset helps. A hundred failures are remembered for
-- the whole time, fewer for their share of it: waiting permits no more attempts, and an invented address costs little.
-- keys: guesses, emails
-- args: memory for a hundred failures in ms, address
-- replies: OK(claim or '', BLOCKED, BEGAN) | WAIT(ms) | FENCED
local memory = tonumber(memory)
local failures, blocked, began = guesses(guessesKey)
-- A clock that went back must not lengthen a pause.
local longest = failures >= 100 and memory or 60000
if blocked > now and blocked <= now + longest then return { 'WAIT', int(blocked - now) } end
failures = failures + 1
blocked = now + guessPause(failures, memory)
if began == '' then began = int(now) end
putGuesses(guessesKey, failures, blocked, began, memory)
return { 'OK', redis.call('HGET', emailsKey, address) or '', int(blocked), began }
