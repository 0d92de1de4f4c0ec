-- flags: allow-oom
-- uses: claim-lib
-- A wish is over: carried out, or refused because another owner has the thing.
-- KEYS: shards, unfinished, record
-- ARGV: now, channel, incarnation, intent, number, 1 if it was carried out, else 0
-- Replies {OK}, {OPEN} if a wish to be refused was fulfilled by another executor (or one carried out was not), {GONE, last}
-- if it was over before, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local values = redis.call('HMGET', KEYS[3], 'wish', 'claim', 'last')
local isFulfilled = values[2] == ARGV[5]
if isFulfilled and ARGV[6] == '0' then return { 'OPEN' } end
if values[1] ~= ARGV[5] then return { 'GONE', lastNumber(values[1], values[3], values[2]) } end
if not isFulfilled and ARGV[6] == '1' then return { 'OPEN' } end
if not isFulfilled then redis.call('HSET', KEYS[3], 'last', ARGV[5]) end
redis.call('HDEL', KEYS[3], 'wish', 'wanted', 'wantedAs', 'releasing')
redis.call('SREM', KEYS[2], ARGV[4])
return { 'OK' }
