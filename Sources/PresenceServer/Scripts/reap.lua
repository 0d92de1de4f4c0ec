-- flags: allow-oom
-- Ends what a dead incarnation left of some users, who were last seen at its last renewal.
-- KEYS: floor, shard's users, then user and sessions of each
-- ARGV: now, channel, incarnation, last renewal, users …
for i = 5, #ARGV do
    local userKey, sessionsKey = KEYS[2 * i - 7], KEYS[2 * i - 6]
    local values = redis.call('HGETALL', sessionsKey)
    for j = 1, #values, 2 do
        local each = session(values[j + 1])
        if each.incarnation == ARGV[3] then
            redis.call('HDEL', sessionsKey, values[j])
            seen(userKey, math.max(each.began, tonumber(ARGV[4])))
        end
    end
    redis.call('SREM', KEYS[2], ARGV[i])
    lapse(userKey, ARGV[2], ARGV[i])
    announce(userKey, sessionsKey, KEYS[1], ARGV[2], ARGV[i], now)
end
return { 'OK' }
