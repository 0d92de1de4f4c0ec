-- uses: account-lib
-- The new address is claimed: from now on it is the account's, unless the wish is over.
-- KEYS: shards, floor, account, mail
-- ARGV: now, channel, incarnation, user, address, number, old address, a mail there that tells of it
-- Replies {OK, old address, number of its claim}, {FENCED}, or {GONE}: then the claim is given back.
local channel, user = ARGV[2], ARGV[4]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local held = redis.call('HMGET', KEYS[3], 'email', 'claim', 'wanted', 'wish')
local wanted, limit = string.match(held[3] or '', '^(%S+) (%d+)$')
if wanted ~= ARGV[5] or held[4] ~= ARGV[6] or tonumber(limit) <= now then return { 'GONE' } end
redis.call('HSET', KEYS[3], 'email', ARGV[5], 'claim', ARGV[6], 'verified', '1')
-- What was sent to the old address opens nothing any more.
redis.call('HDEL', KEYS[3], 'wanted', 'change', 'verify', 'reset')
accountChanged(channel, user, KEYS[3], KEYS[2])
if held[1] == ARGV[7] then redis.call('RPUSH', KEYS[4], ARGV[8]) end
return { 'OK', held[1], held[2] }
