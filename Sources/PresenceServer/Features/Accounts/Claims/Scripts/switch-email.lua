-- uses: account-lib
-- Gives the account the claimed new address, unless the wish is over. The old address is to be released. A guest gets the
-- password of the upgrade as well, and is no guest any more.
-- keys: user, mail, guests
-- args: user, address, number, text of a mail to the old address or '', digest of a token that verifies a
--       guest's address (hex), lifetime of the token, request text of the mail with it
-- replies: OK(releasing) also if that was done before | GONE and the claim is to be given up | FENCED
local held = redis.call('HMGET', userKey, 'email', 'emailClaim', 'emailWanted', 'emailWish', 'emailReleasing',
    'change', 'upgrade')
if held[2] == number and held[1] == address then return { 'OK', held[5] or '' } end
local pending
local wanted, limit = string.match(held[3] or '', '^(%S+) (%d+)$')
if wanted ~= address or held[4] ~= number then return { 'GONE' } end
if tonumber(limit) <= now then
    -- In the same step, so that this number has no further effect and its claim stays recorded.
    giveUp(userKey, held[4], wanted)
    redis.call('HDEL', userKey, 'emailWanted')
    return { 'GONE' }
end
local releasing = held[5] or ''
if held[1] then
    releasing = giveUp(userKey, held[2] or '0', held[1])
    notifyOwner(userKey, mailKey, 'address', text)
    redis.call('HSET', userKey, 'email', address, 'verified', '1')
else
    local asked, password, isProved = string.match(held[7] or '', '^(%S+) (%S+) (%d)$')
    if asked ~= address then
        giveUp(userKey, held[4], wanted)
        redis.call('HDEL', userKey, 'emailWanted')
        return { 'GONE' }
    end
    redis.call('HSET', userKey, 'email', address)
    if password ~= '-' then redis.call('HSET', userKey, 'password', unhex(password)) end
    redis.call('HDEL', userKey, 'guest', 'upgrade') -- mutation: no-guest-any-more
    redis.call('ZREM', guestsKey, user)
    if isProved == '1' then -- mutation: upgrade-is-proved
        redis.call('HSET', userKey, 'verified', '1')
    else
        pending = now + tonumber(lifetime)
        pushMail(mailKey, request, pending)
    end
end
redis.call('HSET', userKey, 'emailClaim', number) -- mutation: account-says-its-claim
-- Tokens sent to the old address become invalid. A link to yet another address, requested meanwhile, stays valid.
redis.call('HDEL', userKey, 'emailWanted', 'verify', 'reset')
if pending then redis.call('HSET', userKey, 'verify', digest .. ' ' .. int(pending)) end
if string.match(held[6] or '', '^%S+ %d+ (.*)$') == address then redis.call('HDEL', userKey, 'change') end
accountChanged(user, userKey)
return { 'OK', releasing }
