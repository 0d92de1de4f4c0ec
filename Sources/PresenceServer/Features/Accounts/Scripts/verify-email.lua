-- uses: account-lib
-- Verifies an address by the token of a mail that was sent there.
-- keys: user
-- args: user, digest of the token (hex)
-- replies: OK | GONE | FENCED
if not mailToken(userKey, 'verify', digest) then return { 'GONE' } end
verifyAddress(user, userKey)
return { 'OK' }
