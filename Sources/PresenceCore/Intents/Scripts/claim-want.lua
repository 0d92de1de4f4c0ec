-- uses: claim-lib
-- A wish for a thing, or for none. An earlier wish comes first.
-- KEYS: shards, unfinished, record, floor
-- ARGV: now, channel, incarnation, intent, thing ('' for none), how it is shown
-- Replies {WISH, number}, {HELD} if there is nothing to do, {OPEN} if an earlier wish is not carried out, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local values = redis.call('HMGET', KEYS[3], 'wish', 'last', 'held', 'heldAs', 'claim')
if values[1] then return { 'OPEN' } end
if (values[3] or '') == ARGV[5] and (values[4] or values[3] or '') == ARGV[6] then return { 'HELD' } end
local number = int(nextVersion(lastNumber(false, values[2], values[5]), KEYS[4]))
if ARGV[5] ~= '' then
    redis.call('HSET', KEYS[3], 'wish', number, 'wanted', ARGV[5], 'wantedAs', ARGV[6])
else
    redis.call('HSET', KEYS[3], 'wish', number)
end
redis.call('SADD', KEYS[2], ARGV[4])
return { 'WISH', number }
