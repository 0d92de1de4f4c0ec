-- uses: account-lib
-- A device shows a refresh token, whose MAC was found right. The newest makes a new one. The one before it (its answer was
-- lost), and any that was the newest less than 10 s ago (several asked at once), get the newest again. Anything older was
-- stolen, or its thief has the newest: the device is signed out.
-- keys: user, grants
-- args: user, grant, shown counter of the token, idle ms after which an unused device is forgotten
-- replies: OK(account, version, counter) | GONE | REUSED | FENCED
local value = redis.call('HGET', grantsKey, grant)
local held = value and deviceOf(value)
local body, version = account(user, userKey)
if not held or not body then return { 'GONE' } end
if held.used + tonumber(idle) < now then
    signOut(user, grantsKey, { grant })
    return { 'GONE' }
end
-- When the newest was made, the one before it, …
local made = {}
for time in string.gmatch(held.recent, '%d+') do
    if tonumber(time) + 10000 > now then made[#made + 1] = time end
end
local behind = held.counter - tonumber(shown)
if behind <= 0 then
    -- One from the future is as good: a failover lost what the device was told.
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
return { 'OK', body, version, int(held.counter) }
