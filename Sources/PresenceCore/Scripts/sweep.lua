-- flags: allow-oom
-- Looks for leases that ran out, about once in `interval` over all shards.
-- A sweep that comes late itself (Redis was stopped, its clock jumped) extends every lease instead: nobody could renew.
-- One that is less late moves each lease by what is too much: several such gaps may follow each other.
-- While no server has been there for as long as `grace`, nothing is reaped: before, nobody could come back to any. The
-- caller's own lease tells how long there has been one: another that has not run out may be that of a dead server.
-- KEYS: leases
-- ARGV: now, interval, late, lease, claim (how long a reaper has before another may take over), grace, incarnation
-- Replies {incarnation, last renewal, …} of those that this caller shall reap.
local swept = tonumber(redis.call('HGET', KEYS[1], 'swept') or '0') or 0
local gap = now - swept
if gap >= 0 and gap < tonumber(ARGV[2]) then return {} end
local own = string.match(redis.call('HGET', KEYS[1], ARGV[7]) or '', '^%d+ %d+ (%d+) ?i?$')
local settled = own and tonumber(own) <= now - tonumber(ARGV[6])
-- A caller that may not reap yet leaves the turn to the next one.
redis.call('HSET', KEYS[1], 'swept', int(settled and now or now - tonumber(ARGV[2])))

local late = gap < 0 or gap > tonumber(ARGV[3])
local extension = settled and tonumber(ARGV[4]) or math.min(tonumber(ARGV[4]), tonumber(ARGV[6]))
local reply, fields = {}, redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
    -- What is damaged is left to `presenced doctor`.
    local mark, renewed, limit, since = string.match(fields[i + 1], '^(%a*) ?(%d+) (%d+) ?(%d* ?i?)$')
    if renewed and fields[i] ~= 'swept' then
        limit = tonumber(limit)
        local over = limit <= now
        if mark == 'reaping' then
            -- Its reaper may have died, or the clock went back.
            over = over or limit > now + tonumber(ARGV[5])
        elseif late then
            over = false
            redis.call('HSET', KEYS[1], fields[i], renewed .. ' ' .. int(now + extension) .. ' ' .. since)
        elseif gap > 3 * tonumber(ARGV[2]) then
            -- For so long nobody could renew, and the next gap may follow at once. Two intervals are what there is between
            -- two sweeps of callers that may not reap yet.
            limit = math.min(limit + gap - 2 * tonumber(ARGV[2]), now + tonumber(ARGV[4]))
            over = limit <= now
            redis.call('HSET', KEYS[1], fields[i], renewed .. ' ' .. int(limit) .. ' ' .. since)
        elseif limit > now + tonumber(ARGV[4]) then
            -- The clock has gone back since it was renewed.
            redis.call('HSET', KEYS[1], fields[i], renewed .. ' ' .. int(now + tonumber(ARGV[4])) .. ' ' .. since)
        end
        if over and settled then
            redis.call('HSET', KEYS[1], fields[i], 'reaping ' .. renewed .. ' ' .. int(now + tonumber(ARGV[5])))
            reply[#reply + 1] = fields[i]
            reply[#reply + 1] = renewed
        end
    end
end
return reply
