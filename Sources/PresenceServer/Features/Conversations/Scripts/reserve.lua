-- A user makes a direct conversation: it is counted, once, before it is made. Its own partition is another one.
-- KEYS: shards, unfinished, creator, creations
-- ARGV: now, channel, incarnation, intent, conversation, most conversations a user may make
-- Replies {OK}, {FENCED} or {TOOMANY}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
-- No key of a creation has a space.
if redis.call('HEXISTS', KEYS[4], ' ' .. ARGV[5]) == 1 then return { 'OK' } end
if tonumber(redis.call('HGET', KEYS[3], 'conversations') or '0') >= tonumber(ARGV[6]) then return { 'TOOMANY' } end
redis.call('HINCRBY', KEYS[3], 'conversations', 1)
redis.call('HSET', KEYS[4], ' ' .. ARGV[5], ARGV[5])
return { 'OK' }
