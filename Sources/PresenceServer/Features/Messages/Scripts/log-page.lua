-- flags: no-writes
-- A page of the changes of a conversation's messages.
-- KEYS: conversation, log, changes
-- ARGV: now, after, through, most, most bytes
-- Replies {the last change, number of the first one here, members joined by spaces, MESSAGE …}: each as it is now, '' for one
-- that is no longer kept, in the order of the changes. When the changes do not reach so far back, the first one's number is a
-- later one.
local held = redis.call('HMGET', KEYS[1], 'first', 'last', 'changes')
local first, changes = tonumber(held[1] or '1'), tonumber(held[3] or '0')
local oldest = changes - redis.call('LLEN', KEYS[3]) + 1
local from = math.max(tonumber(ARGV[2]) + 1, oldest)
local through = math.min(changes, tonumber(ARGV[3]), from + tonumber(ARGV[4]) - 1)
local members = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do members[#members + 1] = string.match(field, '^m:(.+)$') end
local reply, bytes = { int(changes), int(from), table.concat(members, ' ') }, 0
if from > through then return reply end
for _, seq in ipairs(redis.call('LRANGE', KEYS[3], from - oldest, through - oldest)) do
    local raw = tonumber(seq) >= first and redis.call('LINDEX', KEYS[2], tonumber(seq) - first) or ''
    bytes = bytes + #raw
    if bytes > tonumber(ARGV[5]) and #reply > 3 then break end
    reply[#reply + 1] = raw
end
return reply
