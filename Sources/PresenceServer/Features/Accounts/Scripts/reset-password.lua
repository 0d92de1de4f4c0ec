-- uses: account-lib
-- Sets the password and uses up the token of a mail. The mail has arrived, so the address is verified; all devices are signed
-- out, and a change of address is ended. Without an earlier proof of the address, the account may have identities of another
-- person: they end too.
-- keys: unfinished, user, grants, mail
-- args: user, digest of the token (hex), password the new hash (hex), text of a mail that tells of it,
--       identityIntent that gives up identities
-- replies: OK | GONE | FENCED
if not mailToken(userKey, 'reset', digest) then return { 'GONE' } end
redis.call('HSET', userKey, 'password', unhex(password))
redis.call('HDEL', userKey, 'reset')
dropChange(userKey)
if redis.call('HEXISTS', userKey, 'verified') == 0 then dropIdentities(userKey, '', unfinishedKey, identityIntent) end
verifyAddress(user, userKey)
signOutOthers(user, grantsKey, '')
redis.call('RPUSH', mailKey, text)
return { 'OK' }
