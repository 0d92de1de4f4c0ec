-- The conversations of a user that have not heard of their newest setting of receipts, some of them. Those that have heard
-- are noted first, as "in VERSION NUMBER" in the inbox. When there are none, the intent is over.
-- KEYS: shards, unfinished, inbox, user
-- ARGV: now, channel, incarnation, intent, how many, number, conversations that have heard of that number ...
-- Replies {OK, receipts, number, conversations ...} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local receipts, number = string.match(redis.call('HGET', KEYS[4], 'receipts') or 'e 0', '^(%a) (%d+)$')
for i = 7, #ARGV do
    local version, put = string.match(redis.call('HGET', KEYS[3], ARGV[i]) or '', '^in (%d+) ?%d* ?(%a*)$')
    if version then
        redis.call('HSET', KEYS[3], ARGV[i],
            'in ' .. version .. ' ' .. ARGV[6] .. (put ~= '' and ' ' .. put or ''))
    end
end
local reply, fields = { 'OK', receipts, number }, redis.call('HGETALL', KEYS[3])
for i = 1, #fields, 2 do
    local version, told = string.match(fields[i + 1], '^in (%d+) ?(%d*)')
    if version and told ~= number and #reply < 3 + tonumber(ARGV[5]) then reply[#reply + 1] = fields[i] end
end
if #reply == 3 then redis.call('SREM', KEYS[2], ARGV[4]) end
return reply
