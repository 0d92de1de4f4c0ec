-- uses: account-lib
-- Sets a password, signs out all other devices, and ends a change of address.
-- KEYS: shards, floor, account, grants, mail
-- ARGV: now, channel, incarnation, user, the hash that the password was compared with (hex), the new one (hex),
--       grant that stays signed in ('' none), a mail that tells of it ('' none), 1 if the address counts as verified from now on,
--       a grant that takes the place of the one that stays, and its key (hex), or nothing
-- Replies {OK}, with the account if there is another grant, {FENCED} or {CHANGED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if (redis.call('HGET', KEYS[3], 'password') or '') ~= unhex(ARGV[5]) then return { 'CHANGED' } end
redis.call('HSET', KEYS[3], 'password', unhex(ARGV[6]))
redis.call('HDEL', KEYS[3], 'reset')
dropChange(KEYS[3])
signOutOthers(ARGV[2], ARGV[4], KEYS[4], ARGV[7])
local kept = ARGV[10] and redis.call('HGET', KEYS[4], ARGV[7])
local held = kept and grant(kept)
if held then
    held.key, held.counter, held.used, held.recent = unhex(ARGV[11]), 1, now, '-'
    putGrant(KEYS[4], ARGV[10], held)
    signOut(ARGV[2], ARGV[4], KEYS[4], { '-', ARGV[7] })
end
if ARGV[9] == '1' and redis.call('HSET', KEYS[3], 'verified', '1') == 1 then
    redis.call('HDEL', KEYS[3], 'verify')
    accountChanged(ARGV[2], ARGV[4], KEYS[3], KEYS[2])
end
if ARGV[8] ~= '' then redis.call('RPUSH', KEYS[5], ARGV[8]) end
return { 'OK', held and account(ARGV[4], KEYS[3]) or nil }
