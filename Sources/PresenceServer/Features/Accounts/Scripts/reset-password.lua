-- uses: account-lib
-- Sets the password and uses up the token of a mail. The mail has arrived, so the address is verified; all devices are signed
-- out, and a change of address is ended. Identities end too, since another person may have linked them with a stolen token. One
-- with the account's address is linked again by the next sign-in with it.
-- keys: unfinished, user, grants, mail
-- args: user, digest of the token (hex), password the new hash (hex), text of a mail that tells of it,
--       identityIntent that gives up identities
-- replies: OK | GONE | FENCED
if not mailToken(userKey, 'reset', digest) then return { 'GONE' } end
redis.call('HSET', userKey, 'password', unhex(password))
redis.call('HDEL', userKey, 'reset', 'knownDevices')
dropChange(userKey)
dropIdentities(userKey, '', unfinishedKey, identityIntent) -- mutation: reset-ends-identities
verifyAddress(user, userKey)
signOutOthers(user, grantsKey, '')
notifyOwner(userKey, mailKey, 'password', text)
return { 'OK' }
