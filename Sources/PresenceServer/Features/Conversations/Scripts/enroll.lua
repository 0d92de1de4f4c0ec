-- A user's inbox hears that they joined or left a conversation: "in VERSION" or "out VERSION". One whose account is deleted has
-- no inbox any more: the conversation is told so, and takes them out (settle.lua). What the inbox had when the account was
-- deleted is left by Departing.
-- KEYS: shards, unfinished, inbox, user, pushed
-- ARGV: now, channel, incarnation, intent, conversation, in or out, version
-- Replies {OK, the user's setting of receipts, "e NUMBER" or "n NUMBER", or ''}, {OK, -} if their account is deleted, or
-- {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end

-- Of conversations that were left the newest are kept, and all that were left within the hour: a step that comes late finds
-- the later one. A server whose step is later than that may not write any more. " dropped" (no id has a space) is the largest
-- version that was dropped: from before it nobody knows what was left.
local most, kept, hour = 500, 400, 3600000
local function dropOldest(inbox)
    if redis.call('HLEN', inbox) <= most then return end
    local left, fields = {}, redis.call('HGETALL', inbox)
    for i = 1, #fields, 2 do
        local version = string.match(fields[i + 1], '^out (%d+)')
        if version then left[#left + 1] = { id = fields[i], version = tonumber(version) } end
    end
    if #left <= most then return end
    table.sort(left, function(a, b) return a.version > b.version end)
    local dropped = tonumber(redis.call('HGET', inbox, ' dropped') or '0')
    for i = kept + 1, #left do
        if left[i].version < now - hour then
            redis.call('HDEL', inbox, left[i].id)
            dropped = math.max(dropped, left[i].version)
        end
    end
    if dropped > 0 then redis.call('HSET', inbox, ' dropped', int(dropped)) end
end

local user = redis.call('HMGET', KEYS[4], 'receipts', 'deletedAt')
if user[2] then return { 'OK', '-' } end
local held = string.match(redis.call('HGET', KEYS[3], ARGV[5]) or '', '^%a+ (%d+)')
if tonumber(ARGV[7]) > tonumber(held or '0') then
    redis.call('HSET', KEYS[3], ARGV[5], ARGV[6] .. ' ' .. ARGV[7])
    -- What they were pushed for in it.
    if ARGV[6] == 'out' then
        redis.call('HDEL', KEYS[5], ARGV[5])
        dropOldest(KEYS[3])
    end
end
return { 'OK', user[1] or '' }
