-- Opens a session, or asserts one that its shard already has (after a break).
-- keys: user, sessions, shardUsers, grants, past used if statuses are kept
-- args: id of the user, sessionID, device as =ID or -, kind, state a or i, age in ms, chosen or '' to leave,
--       text or '' to keep or null, clearAfter in ms or '', chosenVersion or '' for now, most sessions of a user or 0,
--       issued when the token was or 0 if it does not say, known time of its beginning by this clock or '' if its shard cannot
--       tell, grant of its token or '', bounds of the past or ''
-- replies: OK(own status …) | REPLACED | DISCONNECTED | REVOKED | BANNED(until, reason) | CROWDED | FENCED
local user = read(id, userKey, sessionsKey, floorKey, channel, pastKey, bounds)
local ban = banned(user.ban)
if ban then return ban end -- mutation: banned-opens
-- `age` was correct when the command was sent. A command that was in flight for long must not make its session look
-- younger. A shard's estimate of this clock may be off by the round-trip time.
local began = now - tonumber(age)
local atLeast = tonumber(known)
if atLeast and began - atLeast > 1000 then began = atLeast end

-- An administrator disconnected the user while this shard received no events. A time in the future means that the clock
-- was set back; without the second condition the user could not connect until it catches up.
local barredAt = tonumber(user.barredAt or '0')
if began < barredAt and barredAt <= now then return { 'DISCONNECTED' } end

-- The token was issued before all of the user's tokens were revoked. A token without a time of issue may be of any age.
if tonumber(issued) < tonumber(user.revokedAt or '0') then return { 'REVOKED' } end -- mutation: old-token
-- The device has been signed out.
if grant ~= '' and redis.call('HEXISTS', grantsKey, grant) == 0 then return { 'REVOKED' } end

-- A device has one connection: the younger one wins, even if the older one arrives later.
local values, held, isHeld = redis.call('HGETALL', sessionsKey), {}, false
local count = #values / 2
for i = 1, #values, 2 do
    local value = values[i + 1]
    if values[i] == sessionID then
        isHeld = true
    else
        local _, other, _, _, since = session(value)
        if device ~= '-' and other == device then
            -- A session that began in the future is from before the clock was set back, so the one opening now is younger.
            if tonumber(since) > began and tonumber(since) <= now then return { 'REPLACED' } end -- mutation: older-wins
            redis.call('HDEL', sessionsKey, values[i])
            -- The new session replaces one, so the limit does not apply.
            count = 0
            redis.call('PUBLISH', channel, table.concat({ 'X', id, '0', int(now), values[i] }, ' '))
        else
            held[#held + 1] = value
        end
    end
end

-- Over: most users never have another one.
setUserField(user, 'ban', false)
if tonumber(most) > 0 and count >= tonumber(most) and not isHeld then return { 'CROWDED' } end

held[#held + 1] = table.concat({ incarnation, device, kind, state, int(began) }, ' ')
redis.call('HSET', sessionsKey, sessionID, held[#held])
user.sessions = held
redis.call('SADD', shardUsersKey, id)
if chosen ~= '' then
    if chosenVersion == '' then
        choose(user, chosen, text, clearAfter)
    elseif tonumber(chosenVersion) > tonumber(user.chosenVersion or '0') then
        -- Redis lost the chosen status, and the shard still has it.
        choose(user, chosen, text, clearAfter)
        setUserField(user, 'chosenVersion', chosenVersion)
    end
end
lapse(user)
finish(user, began)
return ownStatus(user)
