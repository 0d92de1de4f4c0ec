-- The conversations that a deleted user has still to leave, some of them. When there are none, the intent is over. Damaged ones
-- are passed over: as long as there are any, it is not.
-- KEYS: shards, unfinished, inbox, devices, pushed
-- ARGV: now, channel, incarnation, intent, how many, how many damaged ones, damaged conversations ..., conversations that
--       were left ...
-- Replies {OK, conversations ...} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local last, damaged, isOver = 6 + tonumber(ARGV[6]), {}, true
for i = 7, last do damaged[ARGV[i]] = true end
for i = last + 1, #ARGV do redis.call('HDEL', KEYS[3], ARGV[i]) end
local reply, fields = { 'OK' }, redis.call('HGETALL', KEYS[3])
for i = 1, #fields, 2 do
    if string.sub(fields[i + 1], 1, 3) == 'in ' then
        isOver = false
        if not damaged[fields[i]] and #reply <= tonumber(ARGV[5]) then reply[#reply + 1] = fields[i] end
    end
end
-- What was under way when the account was deleted may have written these again.
if #reply == 1 then redis.call('DEL', KEYS[4], KEYS[5]) end
if isOver then
    redis.call('DEL', KEYS[3])
    redis.call('SREM', KEYS[2], ARGV[4])
end
return reply
