-- Opens a session, or asserts one that its shard has held already (after a break of the connection to Redis).
-- keys: user, sessions, shardUsers, grants, past used if statuses are kept
-- args: id of the user, sessionID, device as =ID or -, kind, state a or i, age in ms, chosen or '' to leave,
--       text or '' to keep or null, clearAfter in ms or '', chosenVersion or '' for now, most sessions of a user or 0,
--       issued when the token was or 0 if it does not say, known time of its beginning by this clock or '' if its shard cannot
--       tell, grant of its token or '', bounds of the past or ''
-- replies: OK(own status …) | REPLACED | DISCONNECTED | REVOKED | CROWDED | FENCED
local user = read(id, userKey, sessionsKey, floorKey, channel, pastKey, bounds)
-- Its age was true when the command was sent. One that was on its way for long must not pass for younger than it is;
-- what a shard knows of this clock may be off by the time that an answer took.
local began = now - tonumber(age)
local atLeast = tonumber(known)
if atLeast and began - atLeast > 1000 then began = atLeast end

-- An administrator disconnected the user while this shard could not hear of it. If that is in the future, the clock has gone back
-- since: nobody could connect until it has caught up.
local barredAt = tonumber(user.barredAt or '0')
if began < barredAt and barredAt <= now then return { 'DISCONNECTED' } end

-- A token from before all of the user's were revoked. One that does not say when it was issued may be any.
if tonumber(issued) < tonumber(user.revokedAt or '0') then return { 'REVOKED' } end -- mutation: old-token
-- A device that has been signed out.
if grant ~= '' and redis.call('HEXISTS', grantsKey, grant) == 0 then return { 'REVOKED' } end

-- One connection a device: the younger wins, however late the older one is heard of.
local values, held, isHeld = redis.call('HGETALL', sessionsKey), {}, false
local count = #values / 2
for i = 1, #values, 2 do
    local value = values[i + 1]
    if values[i] == sessionID then
        isHeld = true
    else
        local _, other, _, _, since = session(value)
        if device ~= '-' and other == device then
            -- One from the future began before the clock went back: none is younger than the one opening now.
            if tonumber(since) > began and tonumber(since) <= now then return { 'REPLACED' } end -- mutation: older-wins
            redis.call('HDEL', sessionsKey, values[i])
            -- Where one has given its place, there is one.
            count = 0
            redis.call('PUBLISH', channel, table.concat({ 'X', id, '0', int(now), values[i] }, ' '))
        else
            held[#held + 1] = value
        end
    end
end

if tonumber(most) > 0 and count >= tonumber(most) and not isHeld then return { 'CROWDED' } end

held[#held + 1] = table.concat({ incarnation, device, kind, state, int(began) }, ' ')
redis.call('HSET', sessionsKey, sessionID, held[#held])
user.sessions = held
redis.call('SADD', shardUsersKey, id)
if chosen ~= '' then
    if chosenVersion == '' then
        choose(user, chosen, text, clearAfter)
    elseif tonumber(chosenVersion) > tonumber(user.chosenVersion or '0') then
        -- Redis lost what was chosen: the shard remembers.
        choose(user, chosen, text, clearAfter)
        put(user, 'chosenVersion', chosenVersion)
    end
end
lapse(user)
finish(user, began)
return ownStatus(user)
