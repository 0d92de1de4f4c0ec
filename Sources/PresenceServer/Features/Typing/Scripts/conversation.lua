-- uses: typing-lib
-- flags: no-writes
-- Reads the participants and typing users of a conversation.
-- keys: conversation, typing
-- replies: OK(version, USER:MS and so on, participants)
local left, version, lapsed = typists(typingKey)
local reply = { 'OK', int(math.max(version, lapsed)), (listed(left)) }
for _, field in ipairs(redis.call('HKEYS', conversationKey)) do
    local name = string.match(field, '^m:(.+)$')
    if name then reply[#reply + 1] = name end
end
return reply
