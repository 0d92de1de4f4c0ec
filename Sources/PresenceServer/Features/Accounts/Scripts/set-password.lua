-- uses: account-lib
-- Sets a password, signs out all other devices, and ends a change of address.
-- keys: user, grants, mail
-- args: user, compared hash that the password was compared with (hex), password the new one (hex), stays grant that stays signed
--       in or '', text of a mail that tells of it or '', isVerified if the address counts as verified from now on, grant that takes
--       the place of the one that stays or '', secret its key (hex)
-- replies: OK(account if there is another grant) | CHANGED | FENCED
if (redis.call('HGET', userKey, 'password') or '') ~= unhex(compared) then return { 'CHANGED' } end
redis.call('HSET', userKey, 'password', unhex(password))
redis.call('HDEL', userKey, 'reset')
dropChange(userKey)
signOutOthers(user, grantsKey, stays)
local kept = grant ~= '' and redis.call('HGET', grantsKey, stays)
local held = kept and deviceOf(kept)
if held then
    held.key, held.counter, held.used, held.recent = unhex(secret), 1, now, '-'
    putDevice(grantsKey, grant, held)
    signOut(user, grantsKey, { '-', stays })
end
if isVerified == '1' then verifyAddress(user, userKey) end
notifyOwner(userKey, mailKey, 'password', text)
return { 'OK', held and account(user, userKey) or nil }
