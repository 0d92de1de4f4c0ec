-- uses: account-lib
-- Somebody has forgotten the password of an address: a mail with a token, which replaces an earlier one. Nothing for an
-- account that is disabled or has another address by now, and after three mails an hour. The same again, whose answer was
-- lost, writes no other.
-- KEYS: shards, account, mail
-- ARGV: now, incarnation, address, digest of the token (hex), how long it is good, mail
-- Replies {OK, 1 if there is a mail} or {FENCED}.
if fenced(KEYS[1], ARGV[2]) then return { 'FENCED' } end
local held = redis.call('HMGET', KEYS[2], 'email', 'disabled', 'reset')
if held[1] ~= ARGV[3] or held[2] then return { 'OK', '0' } end
if held[3] and string.sub(held[3], 1, #ARGV[4] + 1) == ARGV[4] .. ' ' then return { 'OK', '1' } end
if not mayMail(KEYS[2], 'reset', 3) then return { 'OK', '0' } end
local limit = now + tonumber(ARGV[5])
redis.call('HSET', KEYS[2], 'reset', ARGV[4] .. ' ' .. int(limit))
pushMail(KEYS[3], ARGV[6], limit)
return { 'OK', '1' }
