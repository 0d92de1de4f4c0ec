-- flags: allow-oom
-- Ends what a dead incarnation left of some users, who were last seen at its last renewal.
-- KEYS: floor, shard's users, then user and sessions of each
-- ARGV: now, channel, incarnation, last renewal, users …
for i = 5, #ARGV do
    local sessionsKey = KEYS[2 * i - 6]
    local user = read(ARGV[i], KEYS[2 * i - 7], sessionsKey, KEYS[1], ARGV[2])
    local values = redis.call('HGETALL', sessionsKey)
    for j = 1, #values, 2 do
        local incarnation, _, _, _, began = session(values[j + 1])
        if incarnation == ARGV[3] then
            redis.call('HDEL', sessionsKey, values[j])
            seen(user, math.max(tonumber(began), tonumber(ARGV[4])))
        end
    end
    redis.call('SREM', KEYS[2], ARGV[i])
    lapse(user)
    finish(user, now)
end
return { 'OK' }
