-- flags: no-writes
-- A page of a conversation's messages, for a member or a backend.
-- keys: conversation, log
-- args: user or '' for a backend, before or 0 for the end, limit, most bytes
-- replies: OK(first, last, MESSAGE and so on: oldest first) | FORBIDDEN | NOWHERE if there is no such conversation
local held = redis.call('HMGET', conversationKey, 'first', 'last', 'm:' .. user, 'kind')
if user == '' then
    if not held[4] then return { 'NOWHERE' } end
elseif not held[3] then
    return { 'FORBIDDEN' }
end
local first, last = tonumber(held[1] or '1'), tonumber(held[2] or '0')
if redis.call('LLEN', logKey) ~= last - first + 1 then
    return redis.error_reply('DAMAGED the messages of a conversation are not all there')
end
local through = last
if tonumber(before) > 0 then through = math.min(last, tonumber(before) - 1) end
local reply = { 'OK', int(first), int(last) }
if through < first then return reply end
local from = math.max(first, through - tonumber(limit) + 1)
local page = redis.call('LRANGE', logKey, from - first, through - first)
-- From the end, as many as fit into one answer: JSON adds names and escapes to each.
local bytes, start = 0, #page + 1
for i = #page, 1, -1 do
    bytes = bytes + #page[i] + 512
    if bytes > tonumber(most) and i < #page then break end
    start = i
end
for i = start, #page do reply[#reply + 1] = page[i] end
return reply
