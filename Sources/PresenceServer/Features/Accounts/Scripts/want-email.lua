-- uses: account-lib
-- The new address was confirmed. It is claimed in another partition, so that is written down first, as an intent, under a
-- number that only grows and means one address: "emailWanted" is "ADDRESS UNTIL", "emailWish" its number. A wish for another address
-- that is open is over; what it may have claimed is given up with this one: "emailReleasing" is "NUMBER ADDRESS …".
-- KEYS: shards, unfinished, account, floor
-- ARGV: now, channel, incarnation, intent, digest of the token (hex)
-- Replies {OK, new address, number, old address}, {FENCED} or {GONE}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local address = mailToken(KEYS[3], 'change', ARGV[5])
if not address then return { 'GONE' } end
local held = redis.call('HMGET', KEYS[3], 'change', 'emailWanted', 'emailWish', 'email')
local limit = string.match(held[1], '^%S+ (%d+)')
local wanted, ends = string.match(held[2] or '', '^(%S+) (%d+)$')
local number = held[3]
-- One that has run out is over, too: its number must not come back.
if wanted ~= address or tonumber(ends) <= now then
    if wanted then giveUp(KEYS[3], number, wanted) end
    -- Like a version, so that it does not come back after Redis has lost changes.
    number = int(nextVersion(number, KEYS[4]))
    redis.call('HSET', KEYS[3], 'emailWish', number)
end
redis.call('HSET', KEYS[3], 'emailWanted', address .. ' ' .. limit)
redis.call('SADD', KEYS[2], ARGV[4])
return { 'OK', address, number, held[4] or '' }
