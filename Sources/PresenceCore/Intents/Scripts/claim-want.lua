-- A wish for a thing, or for none. An earlier wish comes first.
-- KEYS: shards, unfinished, record, floor
-- ARGV: now, channel, incarnation, intent, thing ('' for none), how it is shown
-- Replies {WISH, number}, {HELD} if there is nothing to do, {OPEN} if an earlier wish is not carried out, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local values = redis.call('HMGET', KEYS[3], 'wish', 'last', 'held', 'heldAs')
if values[1] then return { 'OPEN' } end
if (values[3] or '') == ARGV[5] and (values[4] or '') == ARGV[6] then return { 'HELD' } end
local number = int(nextVersion(values[2], KEYS[4]))
redis.call('HSET', KEYS[3], 'last', number, 'wish', number)
if ARGV[5] ~= '' then redis.call('HSET', KEYS[3], 'wanted', ARGV[5], 'wantedAs', ARGV[6]) end
redis.call('SADD', KEYS[2], ARGV[4])
return { 'WISH', number }
