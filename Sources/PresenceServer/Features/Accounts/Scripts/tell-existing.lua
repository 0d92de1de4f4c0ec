-- uses: account-lib
-- Informs the owner of an account, by at most three mails an hour, of a sign-up with their address; the caller learns nothing.
-- For a new account, the mail of the sign-up itself is counted here without text, so that the response takes as long.
-- keys: user, mail
-- args: text of the mail or '' if it is on its way
-- replies: OK | FENCED
if redis.call('HEXISTS', userKey, 'email') == 0 or not mayMail(userKey, 'existing', 3) then return { 'OK' } end
if text ~= '' then redis.call('RPUSH', mailKey, text) end
return { 'OK' }
