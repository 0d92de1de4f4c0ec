-- What was uploaded to a conversation, and by which messages it is kept:
--   attachments      hash of a conversation: by name "USER AT COUNT": who uploaded it, when, and how many messages of theirs
--                    that are kept mention it
--   attachments-due  set of the partition: "NAME CONVERSATION" by when somebody has to look whether its files go
--   attachment       hash by name: conversation, kind, size, and type and file name if it has them; there as long as the files
-- A message mentions what its attachments have an address of. Messages of others keep nothing: when its uploader's are deleted,
-- it goes.

local function mentions(text)
    local names, known, at = {}, {}, 1
    while true do
        -- A plain search: a pattern is tried at each byte of what may be 40 KB.
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

-- There is a message more, or one less: `by` is 1 or -1. What none mentions any more is due at once.
local function mention(key, due, id, from, text, by)
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

-- The conversation has no messages any more.
local function releaseAll(key, due, id)
    for _, name in ipairs(redis.call('HKEYS', key)) do redis.call('ZADD', due, 0, name .. ' ' .. id) end
    redis.call('DEL', key)
end
