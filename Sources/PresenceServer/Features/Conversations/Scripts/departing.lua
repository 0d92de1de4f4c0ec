-- Returns some of the conversations that a deleted user has still to leave. The intent ends when there are none.
-- Damaged ones are skipped, and keep the intent open.
-- keys: unfinished, inbox, devices, pushed
-- args: intent, most conversations of a reply, each(conversation, state left or damaged)
-- replies: OK(conversations) | FENCED
local damaged, isOver = {}, true
for conversation, state in each() do -- mutation: departs-at-once
    if state == 'left' then redis.call('HDEL', inboxKey, conversation) else damaged[conversation] = true end
end
local reply, fields = { 'OK' }, redis.call('HGETALL', inboxKey)
for i = 1, #fields, 2 do
    if string.sub(fields[i + 1], 1, 3) == 'in ' then
        isOver = false
        if not damaged[fields[i]] and #reply <= tonumber(most) then reply[#reply + 1] = fields[i] end
    end
end
-- Requests that were in progress when the account was deleted may have written these again.
if #reply == 1 then redis.call('DEL', devicesKey, pushedKey) end
if isOver then
    redis.call('DEL', inboxKey)
    redis.call('SREM', unfinishedKey, intent)
end
return reply
