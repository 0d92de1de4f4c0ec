-- flags: allow-oom
-- Ends what a dead incarnation left of some users, who were last seen at its last renewal.
-- KEYS: floor, shard's users, then user and sessions of each, then (if it is kept) the past of each
-- ARGV: now, channel, incarnation, last renewal, bounds of the past, users …
local count = #ARGV - 5
for i = 1, count do
    local id, sessionsKey = ARGV[5 + i], KEYS[2 * i + 2]
    local user = read(id, KEYS[2 * i + 1], sessionsKey, KEYS[1], ARGV[2], KEYS[2 + 2 * count + i], ARGV[5])
    local values = redis.call('HGETALL', sessionsKey)
    for j = 1, #values, 2 do
        local incarnation, _, _, _, began = session(values[j + 1])
        if incarnation == ARGV[3] then
            redis.call('HDEL', sessionsKey, values[j])
            seen(user, math.max(tonumber(began), tonumber(ARGV[4])))
        end
    end
    redis.call('SREM', KEYS[2], id)
    lapse(user)
    finish(user, now)
end
return { 'OK' }
