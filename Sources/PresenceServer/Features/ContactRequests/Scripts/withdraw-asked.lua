-- uses: asked-lib
-- A request is withdrawn: its user blocks the other, is banned or deleted, or the two are contacts already.
-- keys: asked, user
-- args: user who was asked, from, number
-- replies: OK | FENCED
number = tonumber(number)
local theirs = askedAt(askedKey, 'in:' .. from)
if theirs and theirs.number > number then return { 'OK' } end
if redis.call('HEXISTS', userKey, 'deletedAt') == 1 then return { 'OK' } end
-- Also if there is none, or an earlier one that is over: a delivery may come later. One that was shown keeps its time: until 30
-- days later, further ones are not shown.
local wasShown = theirs and (theirs.state == 'o' or theirs.state == 'f')
local state = wasShown and 'w' or theirs and theirs.state or 'x'
putAsked(askedKey, 'in:' .. from, number, state ~= 'x' and theirs.at or now, state) -- mutation: withdrawn-stays
if theirs and theirs.state == 'o' then tellAsked(askedKey, user) end
return { 'OK' }
