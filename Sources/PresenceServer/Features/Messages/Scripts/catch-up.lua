-- flags: no-writes
-- Returns the messages that a member's client does not have when it begins to watch a conversation.
-- keys: conversation, log, changes
-- args: user, start message after which or '' for the newest 50, lastKnown change or '', mostMessages, mostBytes
-- replies: OK(change from which events follow, 1 to replace what they hold, first, last, members joined by spaces, MESSAGE and so
--       on: earlier ones that have changed; then those after `start` in their order) | FORBIDDEN
local fields = redis.call('HGETALL', conversationKey)
local held, members = {}, {}
for i = 1, #fields, 2 do
    held[fields[i]] = fields[i + 1]
    members[#members + 1] = string.match(fields[i], '^m:(.+)$')
end
if not held['m:' .. user] then return { 'FORBIDDEN' } end
local first, last, changes = tonumber(held.first or '1'), tonumber(held.last or '0'), tonumber(held.changes or '0')
if redis.call('LLEN', logKey) ~= last - first + 1 then
    return redis.error_reply('DAMAGED the messages of a conversation are not all there')
end
local length = redis.call('LLEN', changesKey)
local oldest = changes - length + 1
local after, known = tonumber(start), tonumber(lastKnown)
local resets = false
if after and (after > last or after < first - 1) then resets = true end
if after and known and (known > changes or known < oldest - 1) then resets = true end
local wanted, through = {}, changes
if not after or resets then
    after = math.max(first - 1, last - 50)
elseif known then
    local seen = {}
    for _, seq in ipairs(known < changes and redis.call('LRANGE', changesKey, known - oldest + 1, -1) or {}) do
        local number = tonumber(seq)
        if number <= after and number >= first and not seen[number] then -- mutation: edited-meanwhile
            seen[number] = true
            wanted[#wanted + 1] = number
        end
    end
    table.sort(wanted)
    if #wanted > tonumber(mostMessages) then
        wanted, resets, after = {}, true, math.max(first - 1, last - 50)
    end
end
local reply = { 'OK', '', '', int(first), int(last), table.concat(members, ' ') }
local bytes, most = 0, tonumber(mostBytes)
for _, seq in ipairs(wanted) do
    local raw = redis.call('LINDEX', logKey, seq - first)
    bytes = bytes + #raw
    reply[#reply + 1] = raw
    if bytes > most then
        resets = true
        break
    end
end

-- Adds the messages after `from`. If they are too many for one answer, the rest follows as events, from the change that
-- created the next message; that change is known only for a message that has not changed since. Returns false if the
-- answer would be far too long, or if the change is no longer in the list, unless the messages are needed.
local function add(from, isNeeded)
    local count = 0
    for seq = from + 1, last, 50 do
        for _, raw in ipairs(redis.call('LRANGE', logKey, seq - first, math.min(seq + 49, last) - first)) do
            if count > 0 and (count >= tonumber(mostMessages) or bytes + #raw > most) then
                local version, edited, deleted = string.match(raw, '^%S+ %d+ (%d+) %d+ %S+ (%d+) %d+ (%d+) ')
                local isMaking = edited == '0' and deleted == '0'
                if isMaking and tonumber(version) >= oldest then
                    through = tonumber(version) - 1
                    return true
                end
                if not isNeeded and (isMaking or bytes > 2 * most) then return false end
            end
            bytes, count = bytes + #raw, count + 1
            reply[#reply + 1] = raw
        end
    end
    return true
end

if resets or not add(after, not tonumber(start)) then
    resets, through, bytes = true, changes, 0
    for i = #reply, 7, -1 do reply[i] = nil end
    add(math.max(first - 1, last - 50), true)
end
reply[2], reply[3] = int(through), resets and '1' or '0'
return reply
