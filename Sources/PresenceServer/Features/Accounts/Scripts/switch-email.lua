-- uses: account-lib
-- The new address is claimed: from now on it is the account's, unless the wish is over. The old one is to be given up.
-- KEYS: shards, unfinished, floor, account, mail
-- ARGV: now, channel, incarnation, intent, user, address, number, old address, a mail there that tells of it
-- Replies {OK, releasing}, also if that was done before, {FENCED}, or {GONE}: then the claim is to be given up.
local channel, user = ARGV[2], ARGV[5]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local held = redis.call('HMGET', KEYS[4], 'email', 'emailClaim', 'emailWanted', 'emailWish', 'emailReleasing',
    'change')
if held[2] == ARGV[7] and held[1] == ARGV[6] then return { 'OK', held[5] or '' } end
local wanted, limit = string.match(held[3] or '', '^(%S+) (%d+)$')
if wanted ~= ARGV[6] or held[4] ~= ARGV[7] then return { 'GONE' } end
if tonumber(limit) <= now then
    -- In the same moment: nothing is done by this number any more, and what it has claimed stays written down.
    giveUp(KEYS[4], held[4], wanted)
    redis.call('HDEL', KEYS[4], 'emailWanted')
    return { 'GONE' }
end
local releasing = giveUp(KEYS[4], held[2] or '0', held[1])
redis.call('HSET', KEYS[4], 'email', ARGV[6], 'emailClaim', ARGV[7], 'verified', '1')
-- What was sent to the old address opens nothing any more. A link to yet another one, asked for meanwhile, still does.
redis.call('HDEL', KEYS[4], 'emailWanted', 'verify', 'reset')
if string.match(held[6] or '', '^%S+ %d+ (.*)$') == ARGV[6] then redis.call('HDEL', KEYS[4], 'change') end
accountChanged(channel, user, KEYS[4], KEYS[3])
if held[1] == ARGV[8] then redis.call('RPUSH', KEYS[5], ARGV[9]) end
return { 'OK', releasing }
