-- Whose inboxes have still to be told that they joined or left a conversation.
-- KEYS: shards, unfinished, conversation
-- ARGV: now, channel, incarnation, intent
-- Replies {OK, USER, in or out, version, …} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local reply, members, fields = { 'OK' }, {}, redis.call('HGETALL', KEYS[3])
for i = 1, #fields, 2 do
    local user = string.match(fields[i], '^m:(.+)$')
    if user then members[user] = true end
end
for i = 1, #fields, 2 do
    local user = string.match(fields[i], '^j:(.+)$')
    if user then
        reply[#reply + 1] = user
        reply[#reply + 1] = members[user] and 'in' or 'out'
        reply[#reply + 1] = fields[i + 1]
    end
end
if #reply == 1 then redis.call('SREM', KEYS[2], ARGV[4]) end
return reply
