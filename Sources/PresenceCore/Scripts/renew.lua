-- flags: allow-oom
-- Enters or renews a lease: "RENEWED UNTIL SINCE", with " i" appended for a server with `redis.interests`; an expired
-- lease is "reaping RENEWED CLAIM".
-- SINCE is the time from which there has always been a server, as far as this one knows: its own start, or the SINCE of
-- another one that renewed its lease after that. It is 0 if no server was there before.
-- keys: leases
-- args: incarnation, lease in ms, enter 1 or 0, age in ms since the server started, grace in ms (see sweep),
--       sent when by this clock as far as the server knows or '', interests i or '', alone 1 if no other server uses this Redis
-- replies: OK(now) | GONE | MODE if there are servers that tell each other of changes in another way
local held = redis.call('HGET', leasesKey, incarnation)
if enter ~= '1' and (not held or string.sub(held, 1, 7) == 'reaping') then return { 'GONE' } end
if enter == '1' and alone ~= '1' then
    local fields = redis.call('HGETALL', leasesKey)
    for i = 1, #fields, 2 do
        local limit, mode = string.match(fields[i + 1], '^%d+ (%d+) ?%d* ?(i?)$')
        if limit and tonumber(limit) > now and mode ~= interests then return { 'MODE' } end
    end
end
local started = now - tonumber(age)
local since = math.min(started, held and tonumber(string.match(held, '^%d+ %d+ (%d+) ?i?$')) or started)
if since > now - tonumber(grace) then
    local fields, first = redis.call('HGETALL', leasesKey), true
    for i = 1, #fields, 2 do
        if fields[i] ~= 'swept' and fields[i] ~= incarnation then
            first = false
            local renewed, other = string.match(fields[i + 1], '^(%d+) %d+ ?(%d*) ?i?$')
            if renewed and tonumber(renewed) > started then since = math.min(since, tonumber(other) or 0) end
        end
    end
    if first and enter == '1' then since = 0 end
end
-- A renewal that was in flight for long does not prove that its sender is alive now.
local renewed = math.min(now, tonumber(sent) or now) -- mutation: late-renewal
local mode = interests == '' and '' or ' ' .. interests
redis.call('HSET', leasesKey, incarnation, int(renewed) .. ' ' .. int(now + tonumber(lease)) .. ' ' .. int(since) .. mode)
return { 'OK', int(now) } -- mutation: answers-time
