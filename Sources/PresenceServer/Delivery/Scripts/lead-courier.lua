-- flags: allow-oom
-- One server at a time takes offered events out of the partitions: the courier. It renews this while it lives. A lease of 0 ends its
-- own and no other.
-- keys: courier
-- args: lease in ms
-- replies: OK | OTHER | FENCED
local holder, limit = string.match(redis.call('GET', courierKey) or '', '^(%S+) (%d+)$')
lease = tonumber(lease)
if lease == 0 and holder ~= incarnation then return { 'OTHER' } end
if holder and holder ~= incarnation and tonumber(limit) > now and tonumber(limit) <= now + lease
    and redis.call('SISMEMBER', shardsKey, holder) == 1 then
    return { 'OTHER' }
end
redis.call('SET', courierKey, incarnation .. ' ' .. int(now + lease))
return { 'OK' }
