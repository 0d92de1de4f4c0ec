-- uses: account-lib
-- Records the request for another address, and queues the mail that confirms it.
-- keys: user, mail
-- args: compared hash that the password was compared with (hex), address the new one, digest of the token (hex),
--       lifetime of the token, text of the mail or '' for none: its token opens nothing since nobody knows it
-- replies: OK | CHANGED | TOOFAST | FENCED
if (redis.call('HGET', userKey, 'password') or '') ~= unhex(compared) then return { 'CHANGED' } end
if not mayMail(userKey, 'change', 3) then return { 'TOOFAST' } end
local limit = now + tonumber(lifetime)
redis.call('HSET', userKey, 'change', table.concat({ digest, int(limit), address }, ' '))
if text ~= '' then pushMail(mailKey, text, limit) end
return { 'OK' }
