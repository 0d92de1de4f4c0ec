-- Opens a session, or asserts one that its shard has held already (after a break of the connection to Redis).
-- KEYS: shards, floor, user, sessions, shard's users
-- ARGV: now, channel, incarnation, user, session, device (=ID or -), kind, state (a or i), age in ms,
--       chosen ('' to leave), text ('' keep, null, JSON string), clearAfter ('' none), chosenVersion ('' now)
-- Replies {OK, now, own status …}, {FENCED}, {REPLACED} or {DISCONNECTED}.
local channel, incarnation, user = ARGV[2], ARGV[3], ARGV[4]
if fenced(KEYS[1], incarnation) then return { 'FENCED' } end
local began = now - tonumber(ARGV[9])

-- Whoever was disconnected by an administrator while this shard could not hear of it.
local barred = tonumber(redis.call('HGET', KEYS[3], 'barredAt') or '0')
if began < barred then return { 'DISCONNECTED' } end

-- One connection a device: the younger wins, however late the older one is heard of.
local device = ARGV[6]
if device ~= '-' then
    local values = redis.call('HGETALL', KEYS[4])
    for i = 1, #values, 2 do
        local other = session(values[i + 1])
        if values[i] ~= ARGV[5] and other.device == device then
            if other.began > began then return { 'REPLACED' } end
            redis.call('HDEL', KEYS[4], values[i])
            redis.call('PUBLISH', channel, table.concat({ 'X', user, '0', int(now), values[i] }, ' '))
        end
    end
end

redis.call('HSET', KEYS[4], ARGV[5],
    table.concat({ incarnation, device, ARGV[7], ARGV[8], int(began) }, ' '))
redis.call('SADD', KEYS[5], user)
if ARGV[10] ~= '' then
    if ARGV[13] == '' then
        choose(KEYS[3], ARGV[10], ARGV[11], ARGV[12])
        tellStatus(KEYS[3], channel, user)
    elseif tonumber(ARGV[13]) > tonumber(redis.call('HGET', KEYS[3], 'chosenVersion') or '0') then
        -- Redis lost what was chosen: the shard remembers.
        choose(KEYS[3], ARGV[10], ARGV[11], ARGV[12])
        redis.call('HSET', KEYS[3], 'chosenVersion', ARGV[13])
        tellStatus(KEYS[3], channel, user)
    end
end
lapse(KEYS[3], channel, user)
announce(KEYS[3], KEYS[4], KEYS[2], channel, user, began)
local own = ownStatus(KEYS[3])
return { 'OK', int(now), own[1], own[2], own[3], own[4] }
