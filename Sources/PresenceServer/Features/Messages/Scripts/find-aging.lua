-- flags: allow-oom
-- Conversations of a partition that `aging` lacks: they had messages before these were kept for a time. When their oldest was
-- sent is found out by the sweep, for which all of them are due.
-- KEYS: shards, aging, aging-found (there for a while once all have been looked at)
-- ARGV: now, channel, incarnation, what the keys of the partition's conversations begin with, cursor, how many keys to look at,
--       ms for which this holds
-- Replies {OK, next cursor, 0 when there is nothing more to look at} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if ARGV[5] == '0' and redis.call('EXISTS', KEYS[3]) == 1 then return { 'OK', '0' } end
local pattern = string.gsub(ARGV[4], '[%*%?%[%]\\]', '\\%0') .. '*'
local page = redis.call('SCAN', ARGV[5], 'MATCH', pattern, 'COUNT', ARGV[6])
for _, key in ipairs(page[2]) do redis.call('ZADD', KEYS[2], 'NX', 0, string.sub(key, #ARGV[4] + 1)) end
if page[1] == '0' then redis.call('SET', KEYS[3], '1', 'PX', ARGV[7]) end
return { 'OK', page[1] }
