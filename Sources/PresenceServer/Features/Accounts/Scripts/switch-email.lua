-- uses: account-lib
-- The new address is claimed: from now on it is the account's, unless the wish is over. The old one is to be given up.
-- keys: user, mail
-- args: user, address, number, former address, text of a mail there that tells of it
-- replies: OK(releasing) also if that was done before | GONE: then the claim is to be given up | FENCED
local held = redis.call('HMGET', userKey, 'email', 'emailClaim', 'emailWanted', 'emailWish', 'emailReleasing',
    'change')
if held[2] == number and held[1] == address then return { 'OK', held[5] or '' } end
local wanted, limit = string.match(held[3] or '', '^(%S+) (%d+)$')
if wanted ~= address or held[4] ~= number then return { 'GONE' } end
if tonumber(limit) <= now then
    -- In the same moment: nothing is done by this number any more, and what it has claimed stays written down.
    giveUp(userKey, held[4], wanted)
    redis.call('HDEL', userKey, 'emailWanted')
    return { 'GONE' }
end
local releasing = giveUp(userKey, held[2] or '0', held[1])
redis.call('HSET', userKey, 'email', address, 'verified', '1')
redis.call('HSET', userKey, 'emailClaim', number) -- mutation: account-says-its-claim
-- What was sent to the old address opens nothing any more. A link to yet another one, asked for meanwhile, still does.
redis.call('HDEL', userKey, 'emailWanted', 'verify', 'reset')
if string.match(held[6] or '', '^%S+ %d+ (.*)$') == address then redis.call('HDEL', userKey, 'change') end
accountChanged(user, userKey)
if held[1] == former then redis.call('RPUSH', mailKey, text) end
return { 'OK', releasing }
