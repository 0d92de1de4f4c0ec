-- A user lets others see what they have read, or does not. An intent's first step: their conversations hear of it afterwards.
-- KEYS: shards, unfinished, floor, user
-- ARGV: now, channel, incarnation, intent, e or n
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local receipts, number = string.match(redis.call('HGET', KEYS[4], 'receipts') or 'e 0', '^(%a) (%d+)$')
if receipts == ARGV[5] then return { 'OK' } end
redis.call('HSET', KEYS[4], 'receipts', ARGV[5] .. ' ' .. int(nextVersion(number, KEYS[3])))
redis.call('SADD', KEYS[2], ARGV[4])
return { 'OK' }
