-- Whose inboxes have still to be told that they joined or left a conversation.
-- KEYS: shards, unfinished, conversation
-- ARGV: now, channel, incarnation, intent
-- Replies {OK, USER, put, in or out, version, …} or {FENCED}: put are those who are in another user's group.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local reply, members, creator, fields = { 'OK' }, {}, nil, redis.call('HGETALL', KEYS[3])
for i = 1, #fields, 2 do
    local user = string.match(fields[i], '^m:(.+)$')
    if user then members[user] = true end
    if fields[i] == 'creator' then creator = fields[i + 1] end
end
for i = 1, #fields, 2 do
    local user = string.match(fields[i], '^j:(.+)$')
    if user then
        reply[#reply + 1] = user
        reply[#reply + 1] = not members[user] and 'out' or creator and creator ~= user and 'put' or 'in'
        reply[#reply + 1] = fields[i + 1]
    end
end
if #reply == 1 then redis.call('SREM', KEYS[2], ARGV[4]) end
return reply
