-- Makes a conversation. Its id was chosen so that it lives in its creator's partition.
-- KEYS: shards, conversation, creator, creations
-- ARGV: now, incarnation, most conversations a user may make, conversation, the creation's key or '', participants …
-- Replies {OK}, {FENCED}, {TOOMANY} or {CONFLICT}; {MADE, conversation} if the creator made one with this key before.
if fenced(KEYS[1], ARGV[2]) then return { 'FENCED' } end
local key = ARGV[5]
if key ~= '' then
    local made = redis.call('HGET', KEYS[4], key)
    if made then return { 'MADE', made } end
end
if redis.call('EXISTS', KEYS[2]) == 1 then return { 'CONFLICT' } end
if tonumber(redis.call('HGET', KEYS[3], 'conversations') or '0') >= tonumber(ARGV[3]) then return { 'TOOMANY' } end
redis.call('HINCRBY', KEYS[3], 'conversations', 1)
for i = 6, #ARGV do redis.call('SADD', KEYS[2], ARGV[i]) end
-- Never longer than what a user may make, so it need not expire.
if key ~= '' then redis.call('HSET', KEYS[4], key, ARGV[4]) end
return { 'OK' }
