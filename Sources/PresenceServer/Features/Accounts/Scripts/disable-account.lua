-- uses: account-lib
-- Disables an account for a backend, which signs it out everywhere and ends a change of its address, or enables it.
-- keys: user, grants
-- args: user, isDisabled
-- replies: OK | NONE | FENCED
if redis.call('HEXISTS', userKey, 'version') == 0 then return { 'NONE' } end
if isDisabled ~= '1' then
    redis.call('HDEL', userKey, 'disabled')
else
    redis.call('HSET', userKey, 'disabled', '1')
    redis.call('HDEL', userKey, 'reset')
    dropChange(userKey)
    signOutOthers(user, grantsKey, '')
end
return { 'OK' }
