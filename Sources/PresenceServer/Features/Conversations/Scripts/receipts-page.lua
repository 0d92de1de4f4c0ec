-- The conversations of a user that have not heard of their newest setting of receipts, some of them. Those that have heard
-- are noted first, as "in VERSION NUMBER" in the inbox. When there are none, the intent is over. Damaged ones are passed over:
-- as long as there are any, it is not.
-- KEYS: shards, unfinished, inbox, user
-- ARGV: now, channel, incarnation, intent, how many, number, how many damaged ones, damaged conversations ..., conversations
--       that have heard of that number ...
-- Replies {OK, receipts, number, conversations ...} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local receipts, number = string.match(redis.call('HGET', KEYS[4], 'receipts') or 'e 0', '^(%a) (%d+)$')
local last, damaged = 7 + tonumber(ARGV[7]), {}
for i = 8, last do damaged[ARGV[i]] = true end
for i = last + 1, #ARGV do
    local version, put = string.match(redis.call('HGET', KEYS[3], ARGV[i]) or '', '^in (%d+) ?%d* ?(%a*)$')
    if version then
        redis.call('HSET', KEYS[3], ARGV[i],
            'in ' .. version .. ' ' .. ARGV[6] .. (put ~= '' and ' ' .. put or ''))
    end
end
local reply, isOver, fields = { 'OK', receipts, number }, true, redis.call('HGETALL', KEYS[3])
for i = 1, #fields, 2 do
    local version, told = string.match(fields[i + 1], '^in (%d+) ?(%d*)')
    if version and told ~= number then
        isOver = false
        if not damaged[fields[i]] and #reply < 3 + tonumber(ARGV[5]) then reply[#reply + 1] = fields[i] end
    end
end
if isOver then redis.call('SREM', KEYS[2], ARGV[4]) end
return reply
