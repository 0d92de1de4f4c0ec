-- flags: allow-oom
-- uses: account-lib
-- Signs devices out.
-- keys: grants
-- args: user, grant or '' for all
-- replies: OK(how many) | FENCED
local before = redis.call('HLEN', grantsKey)
if grant == '' then
    signOutOthers(user, grantsKey, '')
elseif redis.call('HEXISTS', grantsKey, grant) == 1 then
    signOut(user, grantsKey, { grant })
end
return { 'OK', int(before - redis.call('HLEN', grantsKey)) }
