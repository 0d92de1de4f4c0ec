-- uses: account-lib device-lib
-- Signs a device in whose user has received a mail at the account's address. An address without an earlier
-- proof may be that of another person's account: the account's password, identities, devices and requests end.
-- keys: unfinished, user, grants, mail
-- args: user, address, grant, secret its key (hex), kind, name (encoded), idle ms after which an unused device is forgotten,
--       most devices, identityIntent that gives up identities, device its digest, notice text of a mail about a new device
-- replies: OK(account, version) | CHANGED if the account is disabled or has another address | BANNED(until, reason) | FENCED
local held = redis.call('HMGET', userKey, 'email', 'disabled', 'verified', 'ban')
if held[1] ~= address or held[2] then return { 'CHANGED' } end
local ban = banned(held[4])
if ban then return ban end
if not held[3] then
    redis.call('HDEL', userKey, 'password', 'reset', 'knownDevices') -- mutation: proof-ends-password
    dropChange(userKey)
    dropIdentities(userKey, '', unfinishedKey, identityIntent) -- mutation: proof-ends-identities
    signOutOthers(user, grantsKey, '') -- mutation: proof-ends-devices
    verifyAddress(user, userKey)
end
signIn(user, grantsKey, grant, secret, kind, name, tonumber(idle), tonumber(most))
noteDevice(userKey, mailKey, device, notice)
return { 'OK', account(user, userKey) }
