-- uses: account-lib
-- The new address was confirmed. It is claimed in another partition, so that is written down first, under a number that
-- only grows: "wanted" is "ADDRESS UNTIL". What breaks off on the way goes on when the token is shown again, or is over
-- when its time is.
-- KEYS: shards, account
-- ARGV: now, incarnation, digest of the token (hex)
-- Replies {OK, new address, number, old address}, {FENCED} or {GONE}.
if fenced(KEYS[1], ARGV[2]) then return { 'FENCED' } end
local address = mailToken(KEYS[2], 'change', ARGV[3])
if not address then return { 'GONE' } end
local limit = string.match(redis.call('HGET', KEYS[2], 'change'), '^%S+ (%d+)')
local number = int(redis.call('HINCRBY', KEYS[2], 'wish', 1))
redis.call('HSET', KEYS[2], 'wanted', address .. ' ' .. limit)
return { 'OK', address, number, redis.call('HGET', KEYS[2], 'email') or '' }
