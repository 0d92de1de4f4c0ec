-- uses: typing-lib
-- A backend sets who takes part in a conversation; nobody: it ends.
-- KEYS: shards, floor, conversation, typing
-- ARGV: now, channel, incarnation, conversation, participants …
-- Publishes "C conversation version at participants …". Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local staying, list = {}, {}
redis.call('DEL', KEYS[3])
for i = 5, #ARGV do
    redis.call('SADD', KEYS[3], ARGV[i])
    staying[ARGV[i]] = true
    list[#list + 1] = ARGV[i]
end
for _, field in ipairs(redis.call('HKEYS', KEYS[4])) do
    if field ~= '#' and not staying[string.match(field, '^%S+')] then redis.call('HDEL', KEYS[4], field) end
end
local left, version, lapsed = typists(KEYS[4], true)
version = typingVersion(KEYS[4], KEYS[2], version, lapsed)
redis.call('PEXPIRE', KEYS[4], 3600000)
redis.call('PUBLISH', ARGV[2], table.concat({ 'C', ARGV[4], int(version), int(now), table.concat(list, ' ') }, ' '))
redis.call('PUBLISH', ARGV[2], table.concat({ 'T', ARGV[4], int(version), int(now), (listed(left)) }, ' '))
return { 'OK' }
