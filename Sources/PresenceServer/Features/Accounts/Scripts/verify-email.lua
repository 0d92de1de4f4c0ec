-- uses: account-lib
-- The address is its owner's: they have the token of a mail that was sent there.
-- KEYS: shards, floor, account
-- ARGV: now, channel, incarnation, user, digest of the token (hex)
-- Replies {OK}, {FENCED} or {GONE}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if not mailToken(KEYS[3], 'verify', ARGV[5]) then return { 'GONE' } end
redis.call('HSET', KEYS[3], 'verified', '1')
redis.call('HDEL', KEYS[3], 'verify')
accountChanged(ARGV[2], ARGV[4], KEYS[3], KEYS[2])
return { 'OK' }
