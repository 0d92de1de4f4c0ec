-- uses: account-lib
-- Sets the password by the token of a mail, which is used up by it. The mail came through, so the address is verified; all
-- devices are signed out, and a change of address is over.
-- KEYS: shards, floor, account, grants, mail
-- ARGV: now, channel, incarnation, user, digest of the token (hex), the new hash (hex), a mail that tells of it
-- Replies {OK}, {FENCED} or {GONE}.
local channel, user = ARGV[2], ARGV[4]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if not mailToken(KEYS[3], 'reset', ARGV[5]) then return { 'GONE' } end
redis.call('HSET', KEYS[3], 'password', unhex(ARGV[6]))
redis.call('HDEL', KEYS[3], 'reset')
dropChange(KEYS[3])
if redis.call('HSET', KEYS[3], 'verified', '1') == 1 then
    redis.call('HDEL', KEYS[3], 'verify')
    accountChanged(channel, user, KEYS[3], KEYS[2])
end
signOutOthers(channel, user, KEYS[4], '')
redis.call('RPUSH', KEYS[5], ARGV[7])
return { 'OK' }
