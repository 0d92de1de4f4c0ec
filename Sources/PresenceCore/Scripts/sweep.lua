-- flags: allow-oom
-- Looks for leases that ran out, about once in `interval` over all shards.
-- A sweep that comes late itself (Redis was stopped, its clock jumped) extends every lease instead: nobody could renew.
-- One that is less late moves each lease by what is too much: several such gaps may follow each other.
-- While no server has been there for as long as `grace`, nothing is reaped: before, nobody could come back to any. The
-- caller's own lease tells how long there has been one: another that has not run out may be that of a dead server.
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
    -- What is damaged is left to `presenced doctor`.
    local mark, renewed, limit, since = string.match(fields[i + 1], '^(%a*) ?(%d+) (%d+) ?(%d* ?i?)$')
    if renewed and fields[i] ~= 'swept' then
        limit = tonumber(limit)
        local over = limit <= now
        if mark == 'reaping' then
            -- Its reaper may have died, or the clock went back.
            over = over or limit > now + tonumber(claim)
        elseif isLate then
            over = false
            redis.call('HSET', leasesKey, fields[i], renewed .. ' ' .. int(now + extension) .. ' ' .. since)
        elseif gap > 3 * tonumber(interval) then -- mutation: many-gaps
            -- For so long nobody could renew, and the next gap may follow at once. Two intervals are what there is between
            -- two sweeps of callers that may not reap yet.
            limit = math.min(limit + gap - 2 * tonumber(interval), now + tonumber(lease))
            over = limit <= now
            redis.call('HSET', leasesKey, fields[i], renewed .. ' ' .. int(limit) .. ' ' .. since)
        elseif limit > now + tonumber(lease) then
            -- The clock has gone back since it was renewed.
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
