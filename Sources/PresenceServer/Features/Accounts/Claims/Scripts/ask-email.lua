-- uses: account-lib
-- Records the request for another address, and queues the mail that confirms it. A guest's request has a password too, which
-- counts from the moment when the address is confirmed.
-- keys: user, mail
-- args: compared hash that the password was compared with (hex) or '' for a guest, password of the guest (hex) or '', address
--       the new one, digest of the token (hex), lifetime of the token, text of the mail or '' for none: its token opens nothing
--       since nobody knows it
-- replies: OK | CHANGED | TOOFAST | FENCED
if (redis.call('HGET', userKey, 'password') or '') ~= unhex(compared) then return { 'CHANGED' } end
if password ~= '' and redis.call('HEXISTS', userKey, 'email') == 1 then return { 'CHANGED' } end
if not mayMail(userKey, 'change', 3) then return { 'TOOFAST' } end
local limit = now + tonumber(lifetime)
redis.call('HSET', userKey, 'change', table.concat({ digest, int(limit), address }, ' '))
if password ~= '' then redis.call('HSET', userKey, 'upgrade', address .. ' ' .. password .. ' 1') end
if text ~= '' then pushMail(mailKey, text, limit) end
return { 'OK' }
