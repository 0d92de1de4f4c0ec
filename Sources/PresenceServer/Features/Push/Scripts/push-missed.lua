-- flags: allow-oom
-- uses: account-lib, push-lib
-- A device does not get a push. If none gets it, the next message of the conversation is pushed again.
-- keys: pushed
-- args: conversation, at the time of the push, platform, token as JSON
-- replies: OK | FENCED
local seq, pushedAt, names = string.match(redis.call('HGET', pushedKey, conversation) or '', '^(%d+) (%d+)(.+)$')
-- Another message may have been pushed since.
if pushedAt ~= at then return { 'OK' } end
local gone, left = deviceName(platform, token, ' ' .. platform .. ' '), ''
for name in string.gmatch(names, '%S+') do
    if name ~= gone then left = left .. ' ' .. name end
end
if left == '' then
    redis.call('HDEL', pushedKey, conversation) -- mutation: given-up-counts-for-nothing
else
    redis.call('HSET', pushedKey, conversation, seq .. ' ' .. pushedAt .. left)
end
return { 'OK' }
