-- uses: account-lib
-- A device shows a refresh token, whose MAC was found right. The newest makes a new one. The one before it (its answer was
-- lost), and any that was the newest less than 10 s ago (several asked at once), get the newest again. Anything older was
-- stolen, or its thief has the newest: the device is signed out.
-- KEYS: shards, account, grants
-- ARGV: now, channel, incarnation, user, grant, the token's counter, ms after which an unused device is forgotten
-- Replies {OK, account, version, counter}, {FENCED}, {GONE} or {REUSED}.
local channel, user, id = ARGV[2], ARGV[4], ARGV[5]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local value = redis.call('HGET', KEYS[3], id)
local held = value and grant(value)
local body, version = account(user, KEYS[2])
if not held or not body then return { 'GONE' } end
if held.used + tonumber(ARGV[7]) < now then
    signOut(channel, user, KEYS[3], { id })
    return { 'GONE' }
end
-- When the newest was made, the one before it, …
local made = {}
for time in string.gmatch(held.recent, '%d+') do
    if tonumber(time) + 10000 > now then made[#made + 1] = time end
end
local shown = tonumber(ARGV[6])
local behind = held.counter - shown
if behind <= 0 then
    -- One from the future is as good: a failover lost what the device was told.
    held.counter = math.max(held.counter, shown) + 1
    table.insert(made, 1, int(now))
    made[33] = nil
elseif behind > 1 and not made[behind] then
    signOut(channel, user, KEYS[3], { id })
    return { 'REUSED' }
end
held.used = now
held.recent = #made > 0 and table.concat(made, ',') or '-'
putGrant(KEYS[3], id, held)
return { 'OK', body, version, int(held.counter) }
