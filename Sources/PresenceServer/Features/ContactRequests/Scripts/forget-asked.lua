-- uses: asked-lib
-- A user who was asked is deleted: the user who has asked them keeps nothing of it.
-- keys: asked
-- args: other who is deleted, number
-- replies: OK | FENCED
local own = askedAt(askedKey, 'out:' .. other)
if own and own.number <= tonumber(number) then redis.call('HDEL', askedKey, 'out:' .. other) end
return { 'OK' }
