-- uses: account-lib
-- Another address is to be the account's, when it is confirmed: a mail is sent there.
-- KEYS: shards, account, mail
-- ARGV: now, incarnation, the hash that the password was compared with (hex), new address, digest of the token (hex),
--       how long it is good, mail ('' for none: its token opens nothing, since nobody knows it)
-- Replies {OK}, {FENCED}, {CHANGED} or {TOOFAST}.
if fenced(KEYS[1], ARGV[2]) then return { 'FENCED' } end
if (redis.call('HGET', KEYS[2], 'password') or '') ~= unhex(ARGV[3]) then return { 'CHANGED' } end
if not mayMail(KEYS[2], 'change', 3) then return { 'TOOFAST' } end
local limit = now + tonumber(ARGV[6])
redis.call('HSET', KEYS[2], 'change', table.concat({ ARGV[5], int(limit), ARGV[4] }, ' '))
if ARGV[7] ~= '' then pushMail(KEYS[3], ARGV[7], limit) end
return { 'OK' }
