-- The conversations that a deleted user has still to leave, some of them. When there are none, the intent is over.
-- KEYS: shards, unfinished, inbox, devices, pushed
-- ARGV: now, channel, incarnation, intent, how many, conversations that were left ...
-- Replies {OK, conversations ...} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
for i = 6, #ARGV do redis.call('HDEL', KEYS[3], ARGV[i]) end
local reply, fields = { 'OK' }, redis.call('HGETALL', KEYS[3])
for i = 1, #fields, 2 do
    if string.sub(fields[i + 1], 1, 3) == 'in ' and #reply <= tonumber(ARGV[5]) then reply[#reply + 1] = fields[i] end
end
if #reply == 1 then
    -- What was under way when the account was deleted may have written the last two again.
    redis.call('DEL', KEYS[3], KEYS[4], KEYS[5])
    redis.call('SREM', KEYS[2], ARGV[4])
end
return reply
