-- Returns the users whose inboxes must still be updated because they joined or left: put for members of another user's
-- group, and asked with the user who began a direct conversation for the other member.
-- keys: unfinished, conversation
-- args: intent
-- replies: OK(user, in or out or put or "asked USER", version and so on) | FENCED
local reply, members, creator, asked, asker, fields = { 'OK' }, {}, nil, nil, nil, redis.call('HGETALL', conversationKey)
for i = 1, #fields, 2 do
    local user = string.match(fields[i], '^m:(.+)$')
    if user then members[user] = true end
    if fields[i] == 'creator' then creator = fields[i + 1] end
    if fields[i] == 'request' then asked = string.match(fields[i + 1], '^(%S+) %?$') end
    if fields[i] == 'pair' then asker = string.match(fields[i + 1], '^%S+') end
end
for i = 1, #fields, 2 do
    local user = string.match(fields[i], '^j:(.+)$')
    if user then
        reply[#reply + 1] = user
        reply[#reply + 1] = not members[user] and 'out' or creator and creator ~= user and 'put'
            or asker and asked == user and 'asked ' .. asker or 'in'
        reply[#reply + 1] = fields[i + 1]
    end
end
if #reply == 1 then redis.call('SREM', unfinishedKey, intent) end
return reply
