-- flags: allow-oom
-- Ends the sessions that a dead incarnation left for some users. The users were last seen at its last renewal.
-- keys: floor, shardUsers, each(user, sessions, past)
-- args: channel, incarnation, renewed when it was last, bounds of the past or '', each(id)
-- replies: OK(user …), each whose session was ended
local place, ended = 0, { 'OK' }
for id in each() do
    place = place + 1
    local userKey, sessionsKey, pastKey = eachKey(place)
    local user = read(id, userKey, sessionsKey, floorKey, channel, pastKey, bounds)
    local values = redis.call('HGETALL', sessionsKey)
    local isEnded = false
    for j = 1, #values, 2 do
        local shard, _, _, _, began = session(values[j + 1])
        if shard == incarnation then
            redis.call('HDEL', sessionsKey, values[j])
            seen(user, math.max(tonumber(began), tonumber(renewed)))
            isEnded = true
        end
    end
    redis.call('SREM', shardUsersKey, id)
    lapse(user)
    finish(user, now)
    if isEnded then ended[#ended + 1] = id end
end
return ended
