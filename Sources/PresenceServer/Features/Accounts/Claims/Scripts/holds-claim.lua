-- uses: account-lib
-- Whether an account has an address under this number, or is about to. If not, the claim is void: numbers only grow, so it can
-- never become valid again. An expired wish is ended here, so that it stays ended even if Redis' clock goes back; its intent
-- releases the claim.
-- keys: user
-- args: address, number
-- replies: HELD | STALE | FENCED
local held = redis.call('HMGET', userKey, 'email', 'emailClaim', 'emailWanted', 'emailWish')
local isHeld = held[1] == address and (held[2] or '0') == number
local wanted, limit = string.match(held[3] or '', '^(%S+) (%d+)$')
local isWanted = wanted == address and held[4] == number
local isOver = isWanted and tonumber(limit) <= now
if isHeld or isWanted and not isOver then return { 'HELD' } end -- mutation: held-by-its-owner
if isOver then
    giveUp(userKey, number, wanted)
    redis.call('HDEL', userKey, 'emailWanted')
end
return { 'STALE' }
