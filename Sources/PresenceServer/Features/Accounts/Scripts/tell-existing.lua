-- uses: account-lib
-- Somebody has signed up with the address of an account, and is not told that there is one: its owner is, by three mails an hour.
-- The first is that of the sign-up itself, which is counted here without a mail, so that its answer takes as long.
-- KEYS: shards, account, mail
-- ARGV: now, incarnation, mail ('' if it is on its way)
-- Replies {OK, 1 if the mail is counted, else 0} or {FENCED}.
if fenced(KEYS[1], ARGV[2]) then return { 'FENCED' } end
if redis.call('HEXISTS', KEYS[2], 'email') == 0 or not mayMail(KEYS[2], 'existing', 3) then return { 'OK', '0' } end
if ARGV[3] ~= '' then redis.call('RPUSH', KEYS[3], ARGV[3]) end
return { 'OK', '1' }
