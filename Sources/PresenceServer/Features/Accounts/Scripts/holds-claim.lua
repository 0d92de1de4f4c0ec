-- uses: account-lib
-- Whether an account holds an address under this number, or is about to. If not, the claim was left behind by what broke off:
-- it can never be meant again, since numbers only grow. A wish that has run out ends here, so that it stays over though Redis'
-- clock goes back: its intent gives up what is claimed.
-- KEYS: shards, unfinished, account
-- ARGV: now, channel, incarnation, intent or '', address, number
-- Replies {OK, 1 or 0} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local held = redis.call('HMGET', KEYS[3], 'email', 'emailClaim', 'emailWanted', 'emailWish')
if held[1] == ARGV[5] and (held[2] or '0') == ARGV[6] then return { 'OK', '1' } end
local wanted, limit = string.match(held[3] or '', '^(%S+) (%d+)$')
if wanted == ARGV[5] and held[4] == ARGV[6] then
    if tonumber(limit) > now then return { 'OK', '1' } end
    giveUp(KEYS[3], held[4], wanted)
    redis.call('HDEL', KEYS[3], 'emailWanted')
end
return { 'OK', '0' }
