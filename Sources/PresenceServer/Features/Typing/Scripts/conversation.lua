-- uses: typing-lib
-- flags: no-writes
-- Reads a conversation: who takes part, and who types.
-- KEYS: conversation, typing
-- ARGV: now
-- Replies {version, "USER:MS …", participants …}.
local left, version, lapsed = typists(KEYS[2])
local reply = { int(math.max(version, lapsed)), (listed(left)) }
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    local name = string.match(field, '^m:(.+)$')
    if name then reply[#reply + 1] = name end
end
return reply
