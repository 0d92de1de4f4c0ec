-- uses: account-lib
-- flags: no-writes
-- Reads an account, and its user's profile.
-- keys: user
-- args: user
-- replies: OK(account, version, profile version or '', profile's BODY or '') | NONE
local body, version = account(user, userKey)
if not body then return { 'NONE' } end
local profile = redis.call('HMGET', userKey, 'profileVersion', 'profile')
return { 'OK', body, version, profile[1] or '', profile[2] or '' }
