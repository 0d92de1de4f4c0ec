-- uses: account-lib
-- Records the confirmed new address as an intent, because the address is claimed in another partition. Its number only grows
-- and stands for one address: "emailWanted" is "ADDRESS UNTIL", "emailWish" its number. An open wish for another address ends;
-- its possible claim is released with this one: "emailReleasing" is "NUMBER ADDRESS …".
-- keys: unfinished, user
-- args: intent, digest of the token (hex)
-- replies: OK(new address, number, old address) | GONE | FENCED
local address = mailToken(userKey, 'change', digest)
if not address then return { 'GONE' } end
local held = redis.call('HMGET', userKey, 'change', 'emailWanted', 'emailWish', 'email')
local limit = string.match(held[1], '^%S+ (%d+)')
local wanted, ends = string.match(held[2] or '', '^(%S+) (%d+)$')
local number = held[3]
-- An expired wish is over too: its number must not be used again.
if wanted ~= address or tonumber(ends) <= now then
    if wanted then giveUp(userKey, number, wanted) end
    -- Numbered like a version, so that it does not come back after Redis has lost changes.
    number = int(nextVersion(number, floorKey))
    redis.call('HSET', userKey, 'emailWish', number)
end
redis.call('HSET', userKey, 'emailWanted', address .. ' ' .. limit)
redis.call('SADD', unfinishedKey, intent)
return { 'OK', address, number, held[4] or '' }
