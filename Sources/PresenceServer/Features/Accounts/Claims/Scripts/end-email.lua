-- flags: allow-oom
-- Ends a change of address that was made, or refused because another account has the address.
-- keys: unfinished, user
-- args: intent, number, released what has been given up ("NUMBER ADDRESS …" or '')
-- replies: OK(1 if the account has the address by this number) | OPEN(releasing) if something else is to be given up first | FENCED
local held = redis.call('HMGET', userKey, 'emailWish', 'emailClaim', 'emailReleasing', 'emailWanted', 'upgrade')
local isMade = held[2] == number and '1' or '0'
-- A later wish belongs to another executor.
if held[1] and held[1] ~= number then return { 'OK', isMade } end
if held[3] and held[3] ~= released then return { 'OPEN', held[3] } end
redis.call('HDEL', userKey, 'emailWanted', 'emailReleasing')
-- An upgrade that waits for a mail about another address stays.
local asked, isProved = string.match(held[5] or '', '^(%S+) %S+ (%d)$')
if isProved == '0' or asked and asked == string.match(held[4] or '', '^(%S+)') then
    redis.call('HDEL', userKey, 'upgrade')
end
redis.call('SREM', unfinishedKey, intent)
return { 'OK', isMade }
