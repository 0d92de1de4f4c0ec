-- flags: allow-oom
-- Looks for leases that ran out, about once in `interval` over all shards.
-- A sweep that comes late itself (Redis was stopped, its clock jumped) extends every lease instead: nobody could renew.
-- A server that has just started and finds no other one alive waits for `grace` since its start before it reaps: while
-- there was no server nobody could come back.
-- KEYS: leases
-- ARGV: now, interval, late, lease, claim (how long a reaper has before another may take over), name of the server's
--       process, ms since it started ('' once it has been up for longer than grace), grace
-- Replies {incarnation, last renewal, …} of those that this caller shall reap.
local process = ARGV[6] .. '.'
local swept = tonumber(redis.call('HGET', KEYS[1], 'swept') or '0') or 0
local leases, fields = {}, redis.call('HGETALL', KEYS[1])
local alone = ARGV[7] ~= ''
for i = 1, #fields, 2 do
    -- What is damaged is left to `presenced doctor`.
    local mark, renewed, limit = string.match(fields[i + 1], '^(%a*) ?(%d+) (%d+)$')
    if mark and fields[i] ~= 'swept' then
        local lease = { incarnation = fields[i], mark = mark, renewed = tonumber(renewed), limit = tonumber(limit),
            own = string.sub(fields[i], 1, #process) == process }
        leases[#leases + 1] = lease
        -- Somebody else has renewed since this server started.
        if alone and not lease.own and mark == '' and lease.renewed >= now - tonumber(ARGV[7]) then alone = false end
    end
end
if alone and tonumber(ARGV[7]) < tonumber(ARGV[8]) then return {} end

local gap = now - swept
if gap >= 0 and gap < tonumber(ARGV[2]) and not alone then return {} end
redis.call('HSET', KEYS[1], 'swept', int(now))
local late = gap < 0 or gap > tonumber(ARGV[3])
local reply = {}
for _, lease in ipairs(leases) do
    local over = lease.limit <= now
    if lease.mark == 'reaping' then
        -- Its reaper may have died, or the clock went back.
        over = over or lease.limit > now + tonumber(ARGV[5])
    elseif late and (lease.own or not alone) then
        over = false
        redis.call('HSET', KEYS[1], lease.incarnation, int(lease.renewed) .. ' ' .. int(now + tonumber(ARGV[4])))
    end
    if over then
        redis.call('HSET', KEYS[1], lease.incarnation,
            'reaping ' .. int(lease.renewed) .. ' ' .. int(now + tonumber(ARGV[5])))
        reply[#reply + 1] = lease.incarnation
        reply[#reply + 1] = int(lease.renewed)
    end
end
return reply
