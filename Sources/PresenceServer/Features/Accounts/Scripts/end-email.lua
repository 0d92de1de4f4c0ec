-- flags: allow-oom
-- A change of address is over: made, or refused because another has the address.
-- KEYS: shards, unfinished, account
-- ARGV: now, channel, incarnation, intent, number, what has been given up ("NUMBER ADDRESS …" or '')
-- Replies {OK, 1 if the account has the address by this number, else 0}, {OPEN, releasing} if something else is to be given
-- up first, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local held = redis.call('HMGET', KEYS[3], 'emailWish', 'emailClaim', 'emailReleasing')
local isMade = held[2] == ARGV[5] and '1' or '0'
-- A later wish is another executor's.
if held[1] and held[1] ~= ARGV[5] then return { 'OK', isMade } end
if held[3] and held[3] ~= ARGV[6] then return { 'OPEN', held[3] } end
redis.call('HDEL', KEYS[3], 'emailWanted', 'emailReleasing')
redis.call('SREM', KEYS[2], ARGV[4])
return { 'OK', isMade }
