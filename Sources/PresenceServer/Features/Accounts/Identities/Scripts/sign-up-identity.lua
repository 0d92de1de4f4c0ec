-- uses: profile-lib account-lib
-- Creates an account with an identity. The user's id was drawn into the partition of the identity.
-- keys: user, identities, grants, directory
-- args: user, identity, provider, email that the provider names or -, displayName (encoded), grant, secret its key (hex), kind,
--       name (encoded), device its digest
-- replies: OK(account, version) | TAKEN(claim) if the identity is claimed by another: "USER NUMBER" | FENCED
local taken = redis.call('HGET', identitiesKey, identity)
if taken then return { 'TAKEN', taken } end
local number = int(nextVersion(false, floorKey))
redis.call('HSET', identitiesKey, identity, user .. ' ' .. number)
redis.call('HSET', userKey, 'identityNumber', number)
putIdentity(userKey, identity, number, provider, email)
changeProfile(channel, user, userKey, floorKey, { displayName = displayName }, directoryKey)
signIn(user, grantsKey, grant, secret, kind, name, 0, 1)
redis.call('HSET', userKey, 'knownDevices', device)
offer('account.created', user)
return { 'OK', accountChanged(user, userKey) }
