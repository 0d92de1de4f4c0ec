-- uses: typing-lib
-- Reads a conversation: who takes part, and who types.
-- KEYS: conversation, typing
-- ARGV: now
-- Replies {version, "USER:MS …", participants …}.
local participants = redis.call('SMEMBERS', KEYS[1])
local left, version, lapsed = typists(KEYS[2])
local reply = { int(math.max(version, lapsed)), (listed(left)) }
for _, name in ipairs(participants) do reply[#reply + 1] = name end
return reply
