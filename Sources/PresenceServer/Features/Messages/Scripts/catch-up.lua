-- What a member has not heard of a conversation's messages when they begin to watch it.
-- KEYS: conversation, log, changes
-- ARGV: now, user, after ('' for the newest 50), the last change that they know ('' if none), most messages, most bytes
-- Replies {FORBIDDEN}, or {OK, change from which events follow, 1 to replace what they hold, first, last, members joined by
-- spaces, MESSAGE …}: earlier ones that have changed, then those after `after`, in their order.
local fields = redis.call('HGETALL', KEYS[1])
local held, members = {}, {}
for i = 1, #fields, 2 do
    held[fields[i]] = fields[i + 1]
    local user = string.match(fields[i], '^m:(.+)$')
    if user then members[#members + 1] = user end
end
if not held['m:' .. ARGV[2]] then return { 'FORBIDDEN' } end
local first, last, changes = tonumber(held.first or '1'), tonumber(held.last or '0'), tonumber(held.changes or '0')
local length = redis.call('LLEN', KEYS[3])
local oldest = changes - length + 1
local after, known = tonumber(ARGV[3]), tonumber(ARGV[4])
local resets = false
if after and (after > last or after < first - 1) then resets = true end
if after and known and (known > changes or known < oldest - 1) then resets = true end
local wanted, through = {}, changes
if not after or resets then
    after = math.max(first - 1, last - 50)
elseif known then
    local seen = {}
    for _, seq in ipairs(known < changes and redis.call('LRANGE', KEYS[3], known - oldest + 1, -1) or {}) do
        local number = tonumber(seq)
        if number <= after and number >= first and not seen[number] then
            seen[number] = true
            wanted[#wanted + 1] = number
        end
    end
    table.sort(wanted)
    if #wanted > tonumber(ARGV[5]) then
        wanted, resets, after = {}, true, math.max(first - 1, last - 50)
    end
end
local reply = { 'OK', '', '', int(first), int(last), table.concat(members, ' ') }
local bytes, most = 0, tonumber(ARGV[6])
for _, seq in ipairs(wanted) do
    local raw = redis.call('LINDEX', KEYS[2], seq - first)
    bytes = bytes + #raw
    reply[#reply + 1] = raw
end
-- Too many for one answer: the rest follows as events, from the change that made the next one.
local seq, count = after + 1, 0
while seq <= last do
    local raws = redis.call('LRANGE', KEYS[2], seq - first, math.min(seq + 49, last) - first)
    for _, raw in ipairs(raws) do
        if count >= tonumber(ARGV[5]) or (bytes + #raw > most and count > 0) then
            local place = redis.call('LPOS', KEYS[3], int(seq))
            if place then
                through = oldest + place - 1
                count = -1
                break
            end
        end
        bytes = bytes + #raw
        reply[#reply + 1] = raw
        seq, count = seq + 1, count + 1
    end
    if count < 0 then break end
end
reply[2], reply[3] = int(through), resets and '1' or '0'
return reply
