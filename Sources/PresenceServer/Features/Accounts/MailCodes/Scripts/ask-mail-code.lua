-- uses: account-lib
-- Stores a code for an address, and queues the mail with it. It does the same whether the address has an account or not; only
-- the mail depends on it. A newer code replaces an older one; an address gets five an hour. A repetition of a request whose
-- reply was lost does nothing more.
-- keys: codes, emails, mail
-- args: address, code its digest (hex), link digest of the token in the link (hex), lifetime of both, memory for a hundred
--       failures in ms, text of the mail, forNew if addresses without an account get it too
-- replies: OK | FENCED
local held = redis.call('HMGET', codesKey, 'link', 'failures')
if held[1] == link or not mayMail(codesKey, 'code', 5) then return { 'OK' } end
local limit = now + tonumber(lifetime)
redis.call('HSET', codesKey, 'code', code, 'link', link, 'until', int(limit), 'tries', 0)
keepCodes(codesKey, tonumber(held[2] or '0'), tonumber(memory))
if redis.call('HEXISTS', emailsKey, address) == 1 or forNew == '1' then pushMail(mailKey, text, limit) end
return { 'OK' }
