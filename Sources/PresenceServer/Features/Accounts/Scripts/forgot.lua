-- uses: account-lib
-- Somebody has forgotten the password of an address: a mail with a token, which replaces an earlier one. Nothing for an
-- account that is disabled or has another address by now, and after three mails an hour. The same again, whose answer was
-- lost, writes no other.
-- keys: user, mail
-- args: address, digest of the token (hex), lifetime of the token, text of the mail
-- replies: OK | FENCED
local held = redis.call('HMGET', userKey, 'email', 'disabled', 'reset')
if held[1] ~= address or held[2] then return { 'OK' } end
if held[3] and string.sub(held[3], 1, #digest + 1) == digest .. ' ' then return { 'OK' } end
if not mayMail(userKey, 'reset', 3) then return { 'OK' } end
local limit = now + tonumber(lifetime)
redis.call('HSET', userKey, 'reset', digest .. ' ' .. int(limit))
pushMail(mailKey, text, limit)
return { 'OK' }
