-- uses: claim-lib profile-lib account-lib
-- Creates an account with all its data. The user's id was drawn into the partition of the address. If a username was claimed
-- before, account and username are created in the same step, or neither. A guest has neither address nor password.
-- keys: unfinished, user, emails, grants, mail, guests, directory
-- args: intent, user, number of the wish for a username or '', address or '' for a guest, password (hex) or '', displayName
--       (encoded), idempotency or '', repetition how long that is remembered, grant or '' to sign in on none, secret its key
--       (hex), kind, name (encoded), digest of the token that verifies the address (hex), lifetime of the token, text of the
--       mail or '', isVerified if the address counts as verified, device its digest, language (encoded) or ''
-- replies: OK(the reply of fulfil or '', account, version) | GONE(last) if the wish is over
--       | TAKEN(claim) if the address is claimed by another: "USER NUMBER" | FENCED
local taken = address ~= '' and redis.call('HGET', emailsKey, address)
if taken then -- mutation: address-is-taken
    if number ~= '' then
        dropRecord(userKey)
        redis.call('SREM', unfinishedKey, intent)
    end
    return { 'TAKEN', taken }
end
local released, profile = '', { displayName = displayName }
if number ~= '' then
    local reply = fulfil(userKey, number)
    if reply[1] ~= 'OK' then return reply end
    released = reply[2]
    profile.username = '"' .. shownOf(userKey) .. '"' -- mutation: profile-shows-the-name
end
if address ~= '' then redis.call('HSET', emailsKey, address, user .. ' 0') end
local limit = now + tonumber(lifetime)
if address ~= '' then
    redis.call('HSET', userKey, 'email', address, 'verify', digest .. ' ' .. int(limit))
else
    useGuest(user, userKey, guestsKey)
end
if password ~= '' then redis.call('HSET', userKey, 'password', unhex(password)) end
if isVerified == '1' then redis.call('HSET', userKey, 'verified', '1') end
if idempotency ~= '' then redis.call('HSET', userKey, 'idempotency', int(now + tonumber(repetition)) .. ' ' .. idempotency) end
changeProfile(channel, user, userKey, floorKey, profile, directoryKey)
if language ~= '' then redis.call('HSET', userKey, 'language', language) end
if grant ~= '' then
    signIn(user, grantsKey, grant, secret, kind, name, 0, 1)
    redis.call('HSET', userKey, 'knownDevices', device)
end
if text ~= '' then pushMail(mailKey, text, limit) end
offer('account.created', user)
return { 'OK', released, accountChanged(user, userKey) }
