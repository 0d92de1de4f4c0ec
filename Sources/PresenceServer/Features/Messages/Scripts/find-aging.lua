-- flags: no-writes
-- Some of the keys of the Redis server that has this partition: those of conversations, and the `shards` of partitions, of all of
-- its partitions.
-- KEYS: shards
-- ARGV: now, channel, incarnation, what the keys of this installation begin with, cursor, how many keys to look at
-- Replies {OK, next cursor (0 when there is nothing more to look at), KEY ...} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local pattern = string.gsub(ARGV[4], '[%*%?%[%]\\]', '\\%0') .. '{p*}:[cs][oh]*'
local page = redis.call('SCAN', ARGV[5], 'MATCH', pattern, 'COUNT', ARGV[6])
local reply, start = { 'OK', page[1] }, #ARGV[4] + 1
for _, key in ipairs(page[2]) do
    if string.find(key, '^{p%d+}:conversation:', start) or string.find(key, '^{p%d+}:shards$', start) then
        reply[#reply + 1] = key
    end
end
return reply
