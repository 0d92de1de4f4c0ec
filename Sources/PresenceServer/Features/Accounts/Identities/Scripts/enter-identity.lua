-- uses: account-lib device-lib
-- Signs a device in whose user a provider has identified.
-- keys: user, grants, mail
-- args: user, identity, number, grant, secret its key (hex), kind, name (encoded), idle ms after which an unused device is
--       forgotten, most devices, device its digest, notice text of a mail about a new device
-- replies: OK(account, 1 if it has no address) | STALE if the account does not have the identity under this number
--       | CHANGED if the account is disabled | BANNED(until, reason) | FENCED
local isHeld = false
for linked, claimed in eachIdentity(userKey) do
    if linked == identity and claimed == number then isHeld = true end
end
if not isHeld then return { 'STALE' } end
local held = redis.call('HMGET', userKey, 'disabled', 'ban', 'email')
if held[1] then return { 'CHANGED' } end
local ban = banned(held[2])
if ban then return ban end
signIn(user, grantsKey, grant, secret, kind, name, tonumber(idle), tonumber(most))
noteDevice(userKey, mailKey, device, notice)
local body = account(user, userKey)
return { 'OK', body, held[3] and '0' or '1' }
