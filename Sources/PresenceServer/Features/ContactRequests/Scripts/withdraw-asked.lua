-- uses: asked-lib
-- A request is withdrawn: its user blocks the other, is banned or deleted, or the two are contacts already.
-- keys: asked, user
-- args: user who was asked, from, number
-- replies: OK | FENCED
number = tonumber(number)
local theirs = askedAt(askedKey, 'in:' .. from)
if theirs and (theirs.number > number or theirs.state ~= 'o') then return { 'OK' } end
if redis.call('HEXISTS', userKey, 'deletedAt') == 1 then return { 'OK' } end
-- Also if there is none: a delivery may come later.
putAsked(askedKey, 'in:' .. from, number, now, 'x')
if theirs then tellAsked(askedKey, user) end
return { 'OK' }
