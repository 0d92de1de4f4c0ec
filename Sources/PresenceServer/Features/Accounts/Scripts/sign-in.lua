-- uses: account-lib
-- Signs in on a device, once the password was found right.
-- KEYS: shards, floor, account, grants
-- ARGV: now, channel, incarnation, user, the hash that the password was compared with (hex), a stronger one (hex) or '',
--       grant, its key (hex), kind, name (encoded), ms after which an unused one is forgotten, most devices,
--       1 if only those whose address is verified sign in
-- Replies {OK, account, version}, {FENCED}, or {CHANGED} if the password or the account is not what it was.
local channel, user = ARGV[2], ARGV[4]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local held = redis.call('HMGET', KEYS[3], 'password', 'disabled', 'verified')
if not held[1] or held[1] ~= unhex(ARGV[5]) or held[2] then return { 'CHANGED' } end
if ARGV[13] == '1' and not held[3] then return { 'CHANGED' } end
if ARGV[6] ~= '' then redis.call('HSET', KEYS[3], 'password', unhex(ARGV[6])) end
signIn(channel, user, KEYS[4], ARGV[7], ARGV[8], ARGV[9], ARGV[10], tonumber(ARGV[11]), tonumber(ARGV[12]))
local body, version = account(user, KEYS[3])
return { 'OK', body, version }
