-- uses: account-lib
-- Handles a refresh token with a valid MAC. The newest token makes a new one. The token before it (its reply was lost), and any
-- that was the newest less than 10 s ago (several requests at once), get the newest again. An older token was stolen, or the
-- thief has the newest one: the device is signed out.
-- keys: user, grants, guests
-- args: user, grant, shown counter of the token, idle ms after which an unused device is forgotten
-- replies: OK(account, version, counter) | GONE | REUSED | BANNED(until, reason) | FENCED
local value = redis.call('HGET', grantsKey, grant)
local held = value and deviceOf(value)
local body, version = account(user, userKey)
if not held or not body then return { 'GONE' } end
if held.used + tonumber(idle) < now then
    signOut(user, grantsKey, { grant })
    return { 'GONE' }
end
local ban = banned(redis.call('HGET', userKey, 'ban'))
if ban then return ban end
-- The creation times of the newest token, the one before it, …
local made = {}
for time in string.gmatch(held.recent, '%d+') do
    if tonumber(time) + 10000 > now then made[#made + 1] = time end
end
local behind = held.counter - tonumber(shown)
if behind <= 0 then
    -- A counter from the future is valid too: a failover lost the reply to the device.
    held.counter = math.max(held.counter, tonumber(shown)) + 1
    table.insert(made, 1, int(now))
    made[33] = nil
elseif behind > 1 and not made[behind] then -- mutation: refresh-token-was-used
    signOut(user, grantsKey, { grant })
    return { 'REUSED' }
end
held.used = now
held.recent = #made > 0 and table.concat(made, ',') or '-'
putDevice(grantsKey, grant, held)
if redis.call('HEXISTS', userKey, 'guest') == 1 then useGuest(user, userKey, guestsKey) end -- mutation: refresh-uses-a-guest
return { 'OK', body, version, int(held.counter) }
