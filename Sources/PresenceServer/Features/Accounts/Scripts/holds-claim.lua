-- uses: account-lib
-- Whether an account holds an address under this number, or is about to. If not, the claim was left behind by what broke off:
-- it can never be meant again, since numbers only grow. A wish that has run out ends here, so that it stays over though Redis'
-- clock goes back: its intent gives up what is claimed.
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
