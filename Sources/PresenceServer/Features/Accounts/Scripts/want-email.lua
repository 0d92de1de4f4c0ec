-- uses: account-lib
-- The new address was confirmed. It is claimed in another partition, so that is written down first, as an intent, under a
-- number that only grows and means one address: "emailWanted" is "ADDRESS UNTIL", "emailWish" its number. A wish for another address
-- that is open is over; what it may have claimed is given up with this one: "emailReleasing" is "NUMBER ADDRESS …".
-- keys: unfinished, user
-- args: intent, digest of the token (hex)
-- replies: OK(new address, number, old address) | GONE | FENCED
local address = mailToken(userKey, 'change', digest)
if not address then return { 'GONE' } end
local held = redis.call('HMGET', userKey, 'change', 'emailWanted', 'emailWish', 'email')
local limit = string.match(held[1], '^%S+ (%d+)')
local wanted, ends = string.match(held[2] or '', '^(%S+) (%d+)$')
local number = held[3]
-- One that has run out is over, too: its number must not come back.
if wanted ~= address or tonumber(ends) <= now then
    if wanted then giveUp(userKey, number, wanted) end
    -- Like a version, so that it does not come back after Redis has lost changes.
    number = int(nextVersion(number, floorKey))
    redis.call('HSET', userKey, 'emailWish', number)
end
redis.call('HSET', userKey, 'emailWanted', address .. ' ' .. limit)
redis.call('SADD', unfinishedKey, intent)
return { 'OK', address, number, held[4] or '' }
