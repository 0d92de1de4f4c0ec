-- flags: allow-oom
-- uses: account-lib
-- Returns the claims that an account's intent is to release. An expired wish is among them.
-- keys: unfinished, user
-- args: intent
-- replies: OK(releasing or '') | NONE if there is nothing to do | FENCED
local limit = string.match(redis.call('HGET', userKey, 'identityWanted') or '', '(%d+)$')
if limit and tonumber(limit) <= now then
    dropIdentityWish(userKey)
    limit = nil
end
local releasing = redis.call('HGET', userKey, 'identityReleasing')
if not releasing and not limit then
    redis.call('SREM', unfinishedKey, intent)
    return { 'NONE' }
end
return { 'OK', releasing or '' }
