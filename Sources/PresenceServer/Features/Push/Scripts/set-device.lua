-- Registers a session's device for pushes, or removes it. Devices of sessions that have ended are removed too, and those with the
-- same token: a device is pushed to once.
--   devices  hash of the user: device -> "PLATFORM AT TOKEN"
-- keys: devices, grants, user, pushed
-- args: device g:GRANT of a session of ours or - for tokens of the app's own, platform or '' to remove it, token as JSON
-- replies: OK | FENCED
local revokedAt = tonumber(redis.call('HGET', userKey, 'revokedAt') or '0')
-- Its session may have ended while the request was under way: then the same token may be another's by now.
local grant = string.match(device, '^g:(.+)$')
local isOver = grant and redis.call('HEXISTS', grantsKey, grant) == 0
-- A user has at most 10 devices of web: beyond them the one registered first is removed.
local most, web = 10, {}
local isKnown, fields = false, redis.call('HGETALL', devicesKey)
for i = 1, #fields, 2 do
    local other = string.match(fields[i], '^g:(.+)$')
    local itsPlatform, at, itsToken = string.match(fields[i + 1], '^(%a+) (%d+) (.+)$')
    local isSame = itsPlatform == platform and itsToken == token
    local isThere = not other or redis.call('HEXISTS', grantsKey, other) == 1
    if isSame and isThere and (other or tonumber(at) >= revokedAt) then isKnown = true end
    if not isThere or not isOver and isSame and fields[i] ~= device then
        redis.call('HDEL', devicesKey, fields[i])
    elseif itsPlatform == 'web' and fields[i] ~= device then
        web[#web + 1] = { field = fields[i], at = tonumber(at) }
    end
end
if platform == '' then
    redis.call('HDEL', devicesKey, device)
    return { 'OK' }
end
if isOver then return { 'OK' } end
if platform == 'web' then
    table.sort(web, function(a, b) return a.at < b.at end)
    for i = 1, #web - most + 1 do redis.call('HDEL', devicesKey, web[i].field) end
end
-- If the clock went back, it was registered after the revocation all the same.
redis.call('HSET', devicesKey, device, platform .. ' ' .. int(math.max(now, revokedAt)) .. ' ' .. token)
if isKnown then return { 'OK' } end
-- Earlier pushes may have reached no device, so a new device gets the next message of each conversation.
local records, forgotten = redis.call('HGETALL', pushedKey), {}
for i = 1, #records, 2 do
    -- No push counts (push-lib), with an epoch of its own. A held one has not been made yet. A record by which none counts stays: a
    -- decision that rests on it takes the devices of when it is carried out.
    if not string.match(records[i + 1], '^%d+ 0|') then
        forgotten[#forgotten + 1] = records[i]
        forgotten[#forgotten + 1] = '0 0|' .. int(now)
    end
end
for i = 1, #forgotten, 1000 do
    redis.call('HSET', pushedKey, unpack(forgotten, i, math.min(i + 999, #forgotten)))
end
return { 'OK' }
