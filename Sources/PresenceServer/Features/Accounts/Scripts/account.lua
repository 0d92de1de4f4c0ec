-- uses: account-lib
-- flags: no-writes
-- Reads an account, and its user's profile.
-- keys: user
-- args: user
-- replies: OK(account, version, profile version or '', profile's BODY or '', identities) | NONE
local body, version = account(user, userKey)
if not body then return { 'NONE' } end
local held = redis.call('HMGET', userKey, 'profileVersion', 'profile', 'identities')
return { 'OK', body, version, held[1] or '', held[2] or '', held[3] or '' }
