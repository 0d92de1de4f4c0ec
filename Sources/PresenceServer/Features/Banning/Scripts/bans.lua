-- Some of a partition's bans, after an entry. Removes those that are over, which it meets on its way.
-- keys: bans
-- args: after an entry or '', limit
-- replies: OK(entries) | FENCED
local reply, from, most = { 'OK' }, after == '' and '-' or '(' .. after, tonumber(limit)
while #reply <= most do
    local rows = redis.call('ZRANGEBYLEX', bansKey, from, '+', 'LIMIT', 0, most)
    for _, row in ipairs(rows) do
        if tonumber(string.match(row, '^%S+ %S+ (%d+)')) <= now then
            redis.call('ZREM', bansKey, row)
        elseif #reply <= most then
            reply[#reply + 1] = row
        end
        from = '(' .. row
    end
    if #rows < most then break end
end
return reply
