-- Opens a session, or asserts one that its shard has held already (after a break of the connection to Redis).
-- KEYS: shards, floor, user, sessions, shard's users, grants, past (if it is kept)
-- ARGV: now, channel, incarnation, user, session, device (=ID or -), kind, state (a or i), age in ms,
--       chosen ('' to leave), text ('' keep, null, JSON string), clearAfter ('' none), chosenVersion ('' now),
--       most sessions of a user (0: any number), when the token was issued (0: it does not say),
--       when it began by this clock, as far as its shard knows ('' if it cannot), the grant of its token ('' none),
--       bounds of the past
-- Replies {OK, own status …}, {FENCED}, {REPLACED}, {DISCONNECTED}, {REVOKED} or {CROWDED}.
local channel, incarnation, id = ARGV[2], ARGV[3], ARGV[4]
if fenced(KEYS[1], incarnation) then return { 'FENCED' } end
local user = read(id, KEYS[3], KEYS[4], KEYS[2], channel, KEYS[7], ARGV[18])
-- Its age was true when the command was sent. One that was on its way for long must not pass for younger than it is;
-- what a shard knows of this clock may be off by the time that an answer took.
local began = now - tonumber(ARGV[9])
local known = tonumber(ARGV[16])
if known and began - known > 1000 then began = known end

-- An administrator disconnected the user while this shard could not hear of it. If that is in the future, the clock has gone back
-- since: nobody could connect until it has caught up.
local barredAt = tonumber(user.barredAt or '0')
if began < barredAt and barredAt <= now then return { 'DISCONNECTED' } end

-- A token from before all of the user's were revoked. One that does not say when it was issued may be any.
if tonumber(ARGV[15]) < tonumber(user.revokedAt or '0') then return { 'REVOKED' } end
-- A device that has been signed out.
if ARGV[17] ~= '' and redis.call('HEXISTS', KEYS[6], ARGV[17]) == 0 then return { 'REVOKED' } end

-- One connection a device: the younger wins, however late the older one is heard of.
local device = ARGV[6]
local values, held, isHeld = redis.call('HGETALL', KEYS[4]), {}, false
local count = #values / 2
for i = 1, #values, 2 do
    local value = values[i + 1]
    if values[i] == ARGV[5] then
        isHeld = true
    else
        local _, other, _, _, since = session(value)
        if device ~= '-' and other == device then
            -- One from the future began before the clock went back: none is younger than the one opening now.
            if tonumber(since) > began and tonumber(since) <= now then return { 'REPLACED' } end
            redis.call('HDEL', KEYS[4], values[i])
            -- Where one has given its place, there is one.
            count = 0
            redis.call('PUBLISH', channel, table.concat({ 'X', id, '0', int(now), values[i] }, ' '))
        else
            held[#held + 1] = value
        end
    end
end

local most = tonumber(ARGV[14])
if most > 0 and count >= most and not isHeld then return { 'CROWDED' } end

held[#held + 1] = table.concat({ incarnation, device, ARGV[7], ARGV[8], int(began) }, ' ')
redis.call('HSET', KEYS[4], ARGV[5], held[#held])
user.sessions = held
redis.call('SADD', KEYS[5], id)
if ARGV[10] ~= '' then
    if ARGV[13] == '' then
        choose(user, ARGV[10], ARGV[11], ARGV[12])
    elseif tonumber(ARGV[13]) > tonumber(user.chosenVersion or '0') then
        -- Redis lost what was chosen: the shard remembers.
        choose(user, ARGV[10], ARGV[11], ARGV[12])
        put(user, 'chosenVersion', ARGV[13])
    end
end
lapse(user)
finish(user, began)
return ownStatus(user)
