-- flags: allow-oom
-- Looks for leases that ran out, about once in `interval` over all shards.
-- A sweep that comes late itself (Redis was stopped, its clock jumped) extends every lease instead: nobody could renew.
-- KEYS: leases
-- ARGV: now, interval, late, lease, claim (how long a reaper has before another may take over), alone (1 or 0)
--   alone: nobody but this server can use this Redis, and it has just started; leases that ran out are not extended.
-- Replies {incarnation, last renewal, …} of those that this caller shall reap.
local swept = tonumber(redis.call('HGET', KEYS[1], 'swept') or '0')
local gap = now - swept
if gap >= 0 and gap < tonumber(ARGV[2]) and ARGV[6] == '0' then return {} end
redis.call('HSET', KEYS[1], 'swept', int(now))
local late = (gap < 0 or gap > tonumber(ARGV[3])) and ARGV[6] == '0'
local reply, fields = {}, redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
    local incarnation, value = fields[i], fields[i + 1]
    if incarnation ~= 'swept' then
        local mark, renewed, limit = string.match(value, '^(%a*) ?(%d+) (%d+)$')
        local over = tonumber(limit) <= now
        if mark == 'reaping' then
            -- Its reaper may have died, or the clock went back.
            over = over or tonumber(limit) > now + tonumber(ARGV[5])
        elseif late then
            over = false
            redis.call('HSET', KEYS[1], incarnation, renewed .. ' ' .. int(now + tonumber(ARGV[4])))
        end
        if over then
            redis.call('HSET', KEYS[1], incarnation, 'reaping ' .. renewed .. ' ' .. int(now + tonumber(ARGV[5])))
            reply[#reply + 1] = incarnation
            reply[#reply + 1] = renewed
        end
    end
end
return reply
