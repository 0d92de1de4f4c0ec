-- flags: no-writes
-- A page of the changes of a conversation's messages.
-- keys: conversation, log, changes
-- args: after, through, count of changes, mostBytes
-- replies: OK(last change, number of the first one here, members joined by spaces, MESSAGE and so on: each as it is now; in the
--       order of the changes)
-- If the list of changes does not reach that far back, or some are of messages that are no longer kept, the first
-- number is a later one, after the last of those.
local held = redis.call('HMGET', conversationKey, 'first', 'last', 'changes')
local first, changes = tonumber(held[1] or '1'), tonumber(held[3] or '0')
local oldest = changes - redis.call('LLEN', changesKey) + 1
local from = math.max(tonumber(after) + 1, oldest)
local most, last = tonumber(count), math.min(changes, tonumber(through))

-- Returns the message numbers of some changes, and the last of these changes whose message is no longer kept.
local function page(from, through)
    local gone, rows = nil, redis.call('LRANGE', changesKey, from - oldest, through - oldest)
    for i, seq in ipairs(rows) do
        if tonumber(seq) < first then gone = from + i - 1 end
    end
    return rows, gone
end
local rows, gone = {}, nil
if from <= last then rows, gone = page(from, math.min(last, from + most - 1)) end
if gone then
    for start = from + #rows, last, 1000 do gone = select(2, page(start, math.min(last, start + 999))) or gone end
    from = gone + 1
    if from <= last then rows = page(from, math.min(last, from + most - 1)) end
end
local members = {}
for _, field in ipairs(redis.call('HKEYS', conversationKey)) do members[#members + 1] = string.match(field, '^m:(.+)$') end
local reply, bytes = { 'OK', int(changes), int(from), table.concat(members, ' ') }, 0
if from > last then return reply end
for _, seq in ipairs(rows) do
    local raw = redis.call('LINDEX', logKey, tonumber(seq) - first) or ''
    bytes = bytes + #raw
    if bytes > tonumber(mostBytes) and #reply > 4 then break end
    reply[#reply + 1] = raw
end
return reply
