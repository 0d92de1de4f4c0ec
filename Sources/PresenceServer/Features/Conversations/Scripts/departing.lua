-- Returns some of the conversations that a deleted user has still to leave, or in which their messages are still to be erased. The
-- intent ends when there are none. Damaged ones are skipped, and keep the intent open.
-- keys: unfinished, inbox, devices, pushed
-- args: intent, most conversations of a reply, each(conversation, state left or damaged)
-- replies: OK(1 if their messages are erased too, conversations) | FENCED
local damaged, isOver = {}, true
for conversation, state in each() do -- mutation: departs-at-once
    if state == 'left' then redis.call('HDEL', inboxKey, conversation) else damaged[conversation] = true end
end
local erases = redis.call('HEXISTS', inboxKey, ' erase')
local reply, fields = { 'OK', int(erases) }, redis.call('HGETALL', inboxKey)
for i = 1, #fields, 2 do
    local state = string.match(fields[i + 1], '^%a+ ')
    if state == 'in ' or erases == 1 and state == 'out ' then
        isOver = false
        if not damaged[fields[i]] and #reply <= tonumber(most) + 1 then reply[#reply + 1] = fields[i] end
    end
end
-- Requests that were in progress when the account was deleted may have written these again.
if #reply == 2 then redis.call('DEL', devicesKey, pushedKey) end
if isOver then
    redis.call('DEL', inboxKey)
    redis.call('SREM', unfinishedKey, intent)
end
return reply
