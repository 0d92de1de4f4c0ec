-- flags: allow-oom
-- Enters or renews a lease: "RENEWED UNTIL SINCE", or "reaping RENEWED CLAIM" once it ran out. SINCE is from when on there
-- has been a server all the time, as far as this one knows: since its own start, or for longer if another one that knows so
-- has renewed its lease after that. It is 0 if nobody was there before.
-- KEYS: leases
-- ARGV: now, incarnation, lease in ms, enter (1 or 0), ms since the server started, grace in ms (see sweep),
--       when it was sent by this clock, as far as the server knows ('' if it does not)
-- Replies {OK, now} or {FENCED}.
local held = redis.call('HGET', KEYS[1], ARGV[2])
if ARGV[4] == '0' and (not held or string.sub(held, 1, 7) == 'reaping') then return { 'FENCED' } end
local started = now - tonumber(ARGV[5])
local since = math.min(started, held and tonumber(string.match(held, '^%d+ %d+ (%d+)$')) or started)
if since > now - tonumber(ARGV[6]) then
    local fields, first = redis.call('HGETALL', KEYS[1]), true
    for i = 1, #fields, 2 do
        if fields[i] ~= 'swept' and fields[i] ~= ARGV[2] then
            first = false
            local renewed, other = string.match(fields[i + 1], '^(%d+) %d+ ?(%d*)$')
            if renewed and tonumber(renewed) > started then since = math.min(since, tonumber(other) or 0) end
        end
    end
    if first and ARGV[4] == '1' then since = 0 end
end
-- What was on its way for long does not show that its sender is alive now.
local renewed = math.min(now, tonumber(ARGV[7]) or now)
redis.call('HSET', KEYS[1], ARGV[2], int(renewed) .. ' ' .. int(now + tonumber(ARGV[3])) .. ' ' .. int(since))
return { 'OK', int(now) }
