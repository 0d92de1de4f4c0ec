-- uses: profile-lib account-lib
-- Changes the fields of the account and profile that users may change, all or none of them.
-- keys: user, directory
-- args: user, each(kind p of the profile or a of the account, member, value encoded or '' to remove)
-- replies: OK(account, version, profile version, profile's BODY, identities) | NONE | FENCED
if redis.call('HEXISTS', userKey, 'version') == 0 then return { 'NONE' } end
local changes, changed = {}, false
for kind, member, value in each() do
    if kind == 'p' then
        changes[member] = value
    elseif (redis.call('HGET', userKey, member) or '') ~= value then
        changed = true
        if value ~= '' then
            redis.call('HSET', userKey, member, value)
        else
            redis.call('HDEL', userKey, member)
        end
    end
end
local body, version
if changed then
    body, version = accountChanged(user, userKey)
else
    body, version = account(user, userKey)
end
local profileVersion, profile = changeProfile(channel, user, userKey, floorKey, changes, directoryKey)
return { 'OK', body, version, profileVersion, profile, redis.call('HGET', userKey, 'identities') or '' }
