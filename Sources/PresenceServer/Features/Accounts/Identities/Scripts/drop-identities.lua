-- uses: account-lib
-- Takes the account's identities of a provider away, if another way to sign in is left: a password, an address to which a code is
-- mailed, or an identity of another provider.
-- keys: unfinished, user, mail
-- args: intent, user, provider, notice text of a mail about it
-- replies: OK | NONE if there is no account | MISSING if it has no such identity | LAST if no way to sign in would be left | FENCED
local held = redis.call('HMGET', userKey, 'version', 'email', 'password', 'verified')
if not held[1] then return { 'NONE' } end
local isThere, isLast = false, not (held[2] and (held[3] or held[4]))
for _, _, name in eachIdentity(userKey) do
    if name == provider then isThere = true else isLast = false end
end
if not isThere then return { 'MISSING' } end
if isLast then return { 'LAST' } end -- mutation: last-way-in-stays
dropIdentities(userKey, provider, unfinishedKey, intent)
notifyOwner(userKey, mailKey, 'unlinked', notice)
accountChanged(user, userKey)
return { 'OK' }
