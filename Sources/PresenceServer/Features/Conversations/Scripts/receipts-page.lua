-- Returns some of the conversations that do not have a user's newest setting of receipts. First it notes those that
-- have it, as "in VERSION NUMBER" in the inbox. The intent ends when all have it. Damaged ones are skipped, and keep
-- the intent open.
-- keys: unfinished, inbox, user
-- args: intent, most conversations of a reply, told number of which some have heard, each(conversation, state told or damaged)
-- replies: OK(receipts, number, conversations) | FENCED
local receipts, number = string.match(redis.call('HGET', userKey, 'receipts') or 'e 0', '^(%a) (%d+)$')
local damaged = {}
for conversation, state in each() do
    local version, put = string.match(redis.call('HGET', inboxKey, conversation) or '', '^in (%d+) ?%d* ?(%a*)$')
    if state == 'damaged' then
        damaged[conversation] = true
    elseif version then
        redis.call('HSET', inboxKey, conversation, 'in ' .. version .. ' ' .. told .. (put ~= '' and ' ' .. put or ''))
    end
end
local reply, isOver, fields = { 'OK', receipts, number }, true, redis.call('HGETALL', inboxKey)
for i = 1, #fields, 2 do
    local version, heard = string.match(fields[i + 1], '^in (%d+) ?(%d*)')
    if version and heard ~= number then
        isOver = false
        if not damaged[fields[i]] and #reply < 3 + tonumber(most) then reply[#reply + 1] = fields[i] end
    end
end
if isOver then redis.call('SREM', unfinishedKey, intent) end
return reply
