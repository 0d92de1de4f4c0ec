-- flags: allow-oom
-- Looks for expired leases, about once in `interval` over all shards.
-- If the sweep itself is late (Redis was stopped, its clock jumped), it extends every lease instead, since no server
-- could renew. If it is less late, it extends each lease by the excess; several such gaps may follow each other.
-- Until a server has been there for as long as `grace`, nothing is reaped: before, clients had no server to reconnect
-- to. This is taken from the caller's own lease, since another valid lease may be that of a dead server.
-- keys: leases
-- args: interval in ms, late in ms, lease in ms, claim in ms: how long a reaper has before another may take over, grace in ms,
--       incarnation
-- replies: OK(incarnation, last renewal …) of those that this caller shall reap
local swept = tonumber(redis.call('HGET', leasesKey, 'swept') or '0') or 0
local gap = now - swept
if gap >= 0 and gap < tonumber(interval) then return { 'OK' } end
local own = string.match(redis.call('HGET', leasesKey, incarnation) or '', '^%d+ %d+ (%d+) ?i?$')
local settled = own and tonumber(own) <= now - tonumber(grace)
-- A caller that may not reap yet leaves the turn to the next one.
redis.call('HSET', leasesKey, 'swept', int(settled and now or now - tonumber(interval)))

local isLate = gap < 0 or gap > tonumber(late) -- mutation: late-sweep
local extension = settled and tonumber(lease) or math.min(tonumber(lease), tonumber(grace))
local reply, fields = { 'OK' }, redis.call('HGETALL', leasesKey)
for i = 1, #fields, 2 do
    -- Damaged entries are left to `presenced doctor`.
    local mark, renewed, limit, since = string.match(fields[i + 1], '^(%a*) ?(%d+) (%d+) ?(%d* ?i?)$')
    if renewed and fields[i] ~= 'swept' then
        limit = tonumber(limit)
        local over = limit <= now
        if mark == 'reaping' then
            -- Its reaper may have died, or the clock was set back.
            over = over or limit > now + tonumber(claim)
        elseif isLate then
            over = false
            redis.call('HSET', leasesKey, fields[i], renewed .. ' ' .. int(now + extension) .. ' ' .. since)
        elseif gap > 3 * tonumber(interval) then -- mutation: many-gaps
            -- No server could renew during the gap, and the next one may follow at once. Up to two intervals may pass
            -- between two sweeps of callers that may not reap yet.
            limit = math.min(limit + gap - 2 * tonumber(interval), now + tonumber(lease))
            over = limit <= now
            redis.call('HSET', leasesKey, fields[i], renewed .. ' ' .. int(limit) .. ' ' .. since)
        elseif limit > now + tonumber(lease) then
            -- The clock was set back after the renewal.
            redis.call('HSET', leasesKey, fields[i], renewed .. ' ' .. int(now + tonumber(lease)) .. ' ' .. since)
        end
        if over and settled then -- mutation: unsettled-reaps
            redis.call('HSET', leasesKey, fields[i], 'reaping ' .. renewed .. ' ' .. int(now + tonumber(claim)))
            reply[#reply + 1] = fields[i]
            reply[#reply + 1] = renewed
        end
    end
end
return reply
