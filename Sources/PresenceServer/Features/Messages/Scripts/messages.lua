-- flags: no-writes
-- A page of a conversation's messages, for a member or a backend.
-- KEYS: conversation, log
-- ARGV: now, user ('' for a backend), before (0: the end), limit, most bytes
-- Replies {OK, first, last, MESSAGE …} (oldest first), {FORBIDDEN} or {MISSING}.
local held = redis.call('HMGET', KEYS[1], 'first', 'last', 'm:' .. ARGV[2], 'kind')
if ARGV[2] == '' then
    if not held[4] then return { 'MISSING' } end
elseif not held[3] then
    return { 'FORBIDDEN' }
end
local first, last = tonumber(held[1] or '1'), tonumber(held[2] or '0')
if redis.call('LLEN', KEYS[2]) ~= last - first + 1 then
    return redis.error_reply('DAMAGED the messages of a conversation are not all there')
end
local through = last
if tonumber(ARGV[3]) > 0 then through = math.min(last, tonumber(ARGV[3]) - 1) end
local reply = { 'OK', int(first), int(last) }
if through < first then return reply end
local from = math.max(first, through - tonumber(ARGV[4]) + 1)
local page = redis.call('LRANGE', KEYS[2], from - first, through - first)
-- From the end, as many as may be in one answer: JSON adds names and escapes to each.
local bytes, start = 0, #page + 1
for i = #page, 1, -1 do
    bytes = bytes + #page[i] + 512
    if bytes > tonumber(ARGV[5]) and i < #page then break end
    start = i
end
for i = start, #page do reply[#reply + 1] = page[i] end
return reply
