-- flags: allow-oom
-- uses: account-lib, push-lib
-- A device does not get a push that was told. If none gets it, the next message of the conversation is told again.
-- KEYS: shards, pushed
-- ARGV: now, channel, incarnation, conversation, when it was told, platform, token as JSON
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local seq, at, names = string.match(redis.call('HGET', KEYS[2], ARGV[4]) or '', '^(%d+) (%d+)(.+)$')
-- Since then they may have been told of another message.
if at ~= ARGV[5] then return { 'OK' } end
local gone, left = deviceName(ARGV[6], ARGV[7], ' ' .. ARGV[6] .. ' '), ''
for name in string.gmatch(names, '%S+') do
    if name ~= gone then left = left .. ' ' .. name end
end
if left == '' then
    redis.call('HDEL', KEYS[2], ARGV[4])
else
    redis.call('HSET', KEYS[2], ARGV[4], seq .. ' ' .. at .. left)
end
return { 'OK' }
