-- flags: no-writes
-- Scans the Redis server that has this partition, one step. Returns the keys of conversations and the `shards` of
-- partitions, of all partitions there.
-- args: beginning of all keys of this installation, cursor, count of keys to look at
-- replies: OK(next cursor: 0 when there is nothing more to look at; KEY and so on) | FENCED
local pattern = string.gsub(beginning, '[%*%?%[%]\\]', '\\%0') .. '{p*}:[cs][oh]*'
local page = redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', count)
local reply, start = { 'OK', page[1] }, #beginning + 1
for _, key in ipairs(page[2]) do
    if string.find(key, '^{p%d+}:conversation:', start) or string.find(key, '^{p%d+}:shards$', start) then
        reply[#reply + 1] = key
    end
end
return reply
