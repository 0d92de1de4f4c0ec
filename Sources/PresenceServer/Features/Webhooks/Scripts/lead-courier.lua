-- flags: allow-oom
-- One server at a time takes what is offered: the courier. It says so again while it lives.
-- KEYS: shards, courier
-- ARGV: now, channel, incarnation, for how many ms
-- Replies {OK}, {OTHER} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local holder, limit = string.match(redis.call('GET', KEYS[2]) or '', '^(%S+) (%d+)$')
if holder and holder ~= ARGV[3] and tonumber(limit) > now and tonumber(limit) <= now + tonumber(ARGV[4])
    and redis.call('SISMEMBER', KEYS[1], holder) == 1 then
    return { 'OTHER' }
end
redis.call('SET', KEYS[2], ARGV[3] .. ' ' .. int(now + tonumber(ARGV[4])))
return { 'OK' }
