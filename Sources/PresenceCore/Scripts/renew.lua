-- flags: allow-oom
-- Enters or renews a lease: "RENEWED UNTIL SINCE", or "reaping RENEWED CLAIM" once it ran out; of a server with `redis.interests`
-- "RENEWED UNTIL SINCE i". SINCE is from when on there
-- has been a server all the time, as far as this one knows: since its own start, or for longer if another one that knows so
-- has renewed its lease after that. It is 0 if nobody was there before.
-- KEYS: leases
-- ARGV: now, incarnation, lease in ms, enter (1 or 0), ms since the server started, grace in ms (see sweep),
--       when it was sent by this clock, as far as the server knows ('' if it does not), i with interests or '',
--       alone (1: no other server uses this Redis, or 0)
-- Replies {OK, now}, {FENCED}, or {MODE} if there are servers that tell each other of changes in another way.
local held = redis.call('HGET', KEYS[1], ARGV[2])
if ARGV[4] == '0' and (not held or string.sub(held, 1, 7) == 'reaping') then return { 'FENCED' } end
if ARGV[4] == '1' and ARGV[9] == '0' then
    local fields = redis.call('HGETALL', KEYS[1])
    for i = 1, #fields, 2 do
        local limit, mode = string.match(fields[i + 1], '^%d+ (%d+) ?%d* ?(i?)$')
        if limit and tonumber(limit) > now and mode ~= ARGV[8] then return { 'MODE' } end
    end
end
local started = now - tonumber(ARGV[5])
local since = math.min(started, held and tonumber(string.match(held, '^%d+ %d+ (%d+) ?i?$')) or started)
if since > now - tonumber(ARGV[6]) then
    local fields, first = redis.call('HGETALL', KEYS[1]), true
    for i = 1, #fields, 2 do
        if fields[i] ~= 'swept' and fields[i] ~= ARGV[2] then
            first = false
            local renewed, other = string.match(fields[i + 1], '^(%d+) %d+ ?(%d*) ?i?$')
            if renewed and tonumber(renewed) > started then since = math.min(since, tonumber(other) or 0) end
        end
    end
    if first and ARGV[4] == '1' then since = 0 end
end
-- What was on its way for long does not show that its sender is alive now.
local renewed = math.min(now, tonumber(ARGV[7]) or now)
local mode = ARGV[8] == '' and '' or ' ' .. ARGV[8]
redis.call('HSET', KEYS[1], ARGV[2], int(renewed) .. ' ' .. int(now + tonumber(ARGV[3])) .. ' ' .. int(since) .. mode)
return { 'OK', int(now) }
