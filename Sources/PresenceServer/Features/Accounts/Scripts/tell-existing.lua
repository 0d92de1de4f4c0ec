-- uses: account-lib
-- Somebody has signed up with the address of an account, and is not told that there is one: its owner is, by three mails an hour.
-- The first is that of the sign-up itself, which is counted here without a mail, so that its answer takes as long.
-- keys: user, mail
-- args: text of the mail or '' if it is on its way
-- replies: OK | FENCED
if redis.call('HEXISTS', userKey, 'email') == 0 or not mayMail(userKey, 'existing', 3) then return { 'OK' } end
if text ~= '' then redis.call('RPUSH', mailKey, text) end
return { 'OK' }
