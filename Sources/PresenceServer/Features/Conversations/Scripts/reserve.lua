-- Counts a user's direct conversation, once, before it is made in another partition.
-- keys: creator, creations
-- args: conversation, most conversations a user may make
-- replies: OK | TOOMANY | FENCED
-- Creation keys have no space.
if redis.call('HEXISTS', creationsKey, ' ' .. conversation) == 1 then return { 'OK' } end
if tonumber(redis.call('HGET', creatorKey, 'conversations') or '0') >= tonumber(most) then return { 'TOOMANY' } end
redis.call('HINCRBY', creatorKey, 'conversations', 1)
redis.call('HSET', creationsKey, ' ' .. conversation, conversation)
return { 'OK' }
