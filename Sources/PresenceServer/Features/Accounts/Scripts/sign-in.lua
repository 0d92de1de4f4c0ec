-- uses: account-lib device-lib
-- Signs a device in, after the password was found right.
-- keys: user, grants, mail
-- args: user, compared hash that the password was compared with (hex), stronger one (hex) or '', grant, secret its key (hex), kind,
--       name (encoded), idle ms after which an unused device is forgotten, most devices, verifiedOnly, device its digest, notice
--       text of a mail about a new device
-- replies: OK(account, version) | CHANGED if the password or the account is not what it was | BANNED(until, reason) | FENCED
local held = redis.call('HMGET', userKey, 'password', 'disabled', 'verified', 'ban')
if not held[1] or held[1] ~= unhex(compared) or held[2] then return { 'CHANGED' } end
if verifiedOnly == '1' and not held[3] then return { 'CHANGED' } end
local ban = banned(held[4])
if ban then return ban end
if stronger ~= '' then redis.call('HSET', userKey, 'password', unhex(stronger)) end
signIn(user, grantsKey, grant, secret, kind, name, tonumber(idle), tonumber(most))
noteDevice(userKey, mailKey, device, notice)
return { 'OK', account(user, userKey) }
