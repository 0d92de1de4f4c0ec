-- uses: account-lib
-- flags: no-writes
-- Reads an account, and its user's profile.
-- KEYS: user, account
-- ARGV: now, user
-- Replies {OK, account, version, profile version ('' without), profile's BODY ('' without)} or {NONE}.
local body, version = account(ARGV[2], KEYS[2])
if not body then return { 'NONE' } end
local profile = redis.call('HMGET', KEYS[1], 'profileVersion', 'profile')
return { 'OK', body, version, profile[1] or '', profile[2] or '' }
