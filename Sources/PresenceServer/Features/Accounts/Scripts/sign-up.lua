-- uses: profile-lib account-lib
-- Makes an account with all that belongs to it. The user's id was drawn so that it lives in the partition of the address.
-- KEYS: shards, floor, user, email, account, grants, mail
-- ARGV: now, channel, incarnation, user, address, password (hex), displayName (encoded), idempotency and its time (or ''),
--       grant, its key (hex), kind, name (encoded), digest of the token that verifies the address (hex) and its time, mail
-- Replies {OK, account, version}, {FENCED}, or {TAKEN, claim} if the address is claimed by another: "USER NUMBER".
local channel, user = ARGV[2], ARGV[4]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local taken = redis.call('GET', KEYS[4])
if taken then return { 'TAKEN', taken } end
redis.call('SET', KEYS[4], user .. ' 0')
redis.call('HSET', KEYS[5], 'email', ARGV[5], 'claim', '0', 'password', unhex(ARGV[6]), 'createdAt', int(now),
    'verify', ARGV[14] .. ' ' .. int(now + tonumber(ARGV[15])))
if ARGV[8] ~= '' then redis.call('HSET', KEYS[5], 'idempotency', int(now + tonumber(ARGV[9])) .. ' ' .. ARGV[8]) end
changeProfile(channel, user, KEYS[3], KEYS[2], { displayName = ARGV[7] })
if ARGV[10] ~= '' then signIn(channel, user, KEYS[6], ARGV[10], ARGV[11], ARGV[12], ARGV[13], 0, 1) end
redis.call('RPUSH', KEYS[7], ARGV[16])
local body, version = accountChanged(channel, user, KEYS[5], KEYS[2])
return { 'OK', body, version }
