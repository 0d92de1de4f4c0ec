-- uses: account-lib
-- Queues a mail with a token for a forgotten password; the token replaces an earlier one. Does nothing if the account is
-- disabled or has another address by now, and after three mails an hour. A repetition of a request whose reply was lost queues
-- no second mail.
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
