-- Makes a conversation. Its id was chosen so that it lives in its creator's partition.
-- KEYS: shards, conversation, creator
-- ARGV: now, incarnation, most conversations a user may make, participants …
-- Replies {OK}, {FENCED}, {TOOMANY} or {CONFLICT}.
if fenced(KEYS[1], ARGV[2]) then return { 'FENCED' } end
if redis.call('EXISTS', KEYS[2]) == 1 then return { 'CONFLICT' } end
if tonumber(redis.call('HGET', KEYS[3], 'conversations') or '0') >= tonumber(ARGV[3]) then return { 'TOOMANY' } end
redis.call('HINCRBY', KEYS[3], 'conversations', 1)
for i = 4, #ARGV do redis.call('SADD', KEYS[2], ARGV[i]) end
return { 'OK' }
