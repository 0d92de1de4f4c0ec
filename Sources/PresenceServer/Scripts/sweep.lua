-- flags: allow-oom
-- Looks for leases that ran out, about once in `interval` over all shards.
-- A sweep that comes late itself (Redis was stopped, its clock jumped) extends every lease instead: nobody could renew.
-- While no server has been there for as long as `grace`, nothing is reaped: before, nobody could come back to any.
-- KEYS: leases
-- ARGV: now, interval, late, lease, claim (how long a reaper has before another may take over), grace
-- Replies {incarnation, last renewal, …} of those that this caller shall reap.
local swept = tonumber(redis.call('HGET', KEYS[1], 'swept') or '0') or 0
local gap = now - swept
if gap >= 0 and gap < tonumber(ARGV[2]) then return {} end
redis.call('HSET', KEYS[1], 'swept', int(now))

local leases, settled, fields = {}, false, redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
    -- What is damaged is left to `presenced doctor`.
    local mark, renewed, limit, since = string.match(fields[i + 1], '^(%a*) ?(%d+) (%d+) ?(%d*)$')
    if renewed and fields[i] ~= 'swept' then
        local lease = { incarnation = fields[i], mark = mark, renewed = tonumber(renewed), limit = tonumber(limit),
            since = since }
        if mark == '' and lease.limit > now + tonumber(ARGV[4]) then
            -- The clock has gone back since it was renewed.
            lease.limit = now + tonumber(ARGV[4])
            redis.call('HSET', KEYS[1], fields[i], renewed .. ' ' .. int(lease.limit) .. ' ' .. since)
        end
        leases[#leases + 1] = lease
        -- One that has not been renewed for half a lease may have died together with those that have run out.
        settled = settled or mark == '' and lease.limit > now and lease.renewed > now - tonumber(ARGV[4]) / 2
            and (tonumber(since) or 0) <= now - tonumber(ARGV[6])
    end
end
if not settled then return {} end

local late = gap < 0 or gap > tonumber(ARGV[3])
local reply = {}
for _, lease in ipairs(leases) do
    local over = lease.limit <= now
    if lease.mark == 'reaping' then
        -- Its reaper may have died, or the clock went back.
        over = over or lease.limit > now + tonumber(ARGV[5])
    elseif late then
        over = false
        redis.call('HSET', KEYS[1], lease.incarnation,
            int(lease.renewed) .. ' ' .. int(now + tonumber(ARGV[4])) .. ' ' .. lease.since)
    end
    if over then
        redis.call('HSET', KEYS[1], lease.incarnation,
            'reaping ' .. int(lease.renewed) .. ' ' .. int(now + tonumber(ARGV[5])))
        reply[#reply + 1] = lease.incarnation
        reply[#reply + 1] = int(lease.renewed)
    end
end
return reply
