-- flags: allow-oom
-- Returns the progress of an account's change of address.
-- keys: unfinished, user
-- args: intent
-- replies: OK(wanted address or '', number or 0, address or '' if the account has none) | NONE if there is nothing to do | FENCED
local held = redis.call('HMGET', userKey, 'emailWanted', 'emailWish', 'email', 'emailReleasing', 'version')
if not held[5] and not held[4] then
    redis.call('SREM', unfinishedKey, intent)
    return { 'NONE' }
end
return { 'OK', string.match(held[1] or '', '^(%S+) %d+$') or '', held[2] or '0', held[3] or '' }
