-- The uploads of a conversation, and the number of messages that refer to each:
--   attachments      hash of a conversation: by name "USER AT COUNT": the uploader, the time, and how many stored messages of
--                    the uploader refer to it
--   attachments-due  sorted set of the partition: "NAME CONVERSATION" by the time of the next check for removal
--   attachment       hash by name: conversation, kind, size, and type and file name if present; as long as the files exist
-- A message refers to an upload by an address in its attachments. Only messages of the uploader count: when they are deleted,
-- the upload is removed.

local function mentions(text)
    local names, known, at = {}, {}, 1
    while true do
        -- A plain search, because a pattern would be tried at each byte of up to 40 KB.
        local _, last = string.find(text, '/v1/attachments/', at, true)
        if not last then return names end
        local name = string.match(text, '^%x+', last + 1)
        if name and #name == 32 and not known[name] then
            known[name] = true
            names[#names + 1] = name
        end
        at = last + 1
    end
end

-- Counts a message as added (`by` is 1) or removed (-1). An upload without messages is due at once.
local function countReferences(key, due, id, from, text, by)
    if text == '' then return end
    for _, name in ipairs(mentions(text)) do
        local user, at, count = string.match(redis.call('HGET', key, name) or '', '^(%S+) (%d+) (%d+)$')
        if user == from then -- mutation: own-uploads
            count = tonumber(count) + by
            if count > 0 then
                redis.call('HSET', key, name, table.concat({ user, at, int(count) }, ' '))
            else
                redis.call('HDEL', key, name)
                redis.call('ZADD', due, 0, name .. ' ' .. id)
            end
        end
    end
end

-- Makes all uploads due: the conversation has no messages any more.
local function releaseAll(key, due, id)
    for _, name in ipairs(redis.call('HKEYS', key)) do redis.call('ZADD', due, 0, name .. ' ' .. id) end
    redis.call('DEL', key)
end
