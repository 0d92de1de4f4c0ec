-- A session's device can be pushed to, or not any more. Devices of sessions that have ended go with it, and those with the same
-- token: a device is pushed to once.
-- KEYS: shards, devices, grants, user, pushed
-- ARGV: now, channel, incarnation, device (g:GRANT of a session of ours, or - for tokens of the app's own), platform ('' to
--       remove it), token as JSON
--   devices  hash of the user: device -> "PLATFORM AT TOKEN"
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local revokedAt = tonumber(redis.call('HGET', KEYS[4], 'revokedAt') or '0')
-- Its session may have ended while the request was under way: then the same token may be another's by now.
local session = string.match(ARGV[4], '^g:(.+)$')
local isOver = session and redis.call('HEXISTS', KEYS[3], session) == 0
local isKnown, fields = false, redis.call('HGETALL', KEYS[2])
for i = 1, #fields, 2 do
    local grant = string.match(fields[i], '^g:(.+)$')
    local platform, at, token = string.match(fields[i + 1], '^(%a+) (%d+) (.+)$')
    local isSame = platform == ARGV[5] and token == ARGV[6]
    local isThere = not grant or redis.call('HEXISTS', KEYS[3], grant) == 1
    if isSame and isThere and (grant or tonumber(at) >= revokedAt) then isKnown = true end
    if not isThere or not isOver and isSame and fields[i] ~= ARGV[4] then redis.call('HDEL', KEYS[2], fields[i]) end
end
if ARGV[5] == '' then
    redis.call('HDEL', KEYS[2], ARGV[4])
    return { 'OK' }
end
if isOver then return { 'OK' } end
-- If the clock went back, it was registered after what was revoked all the same.
redis.call('HSET', KEYS[2], ARGV[4], ARGV[5] .. ' ' .. int(math.max(now, revokedAt)) .. ' ' .. ARGV[6])
if isKnown then return { 'OK' } end
-- What was told before may have reached nobody, so a new device hears of the next message of each conversation.
local kept, pushed = {}, redis.call('HGETALL', KEYS[5])
for i = 1, #pushed, 2 do
    if string.sub(pushed[i], 1, 1) == ' ' then
        kept[#kept + 1] = pushed[i]
        kept[#kept + 1] = pushed[i + 1]
    end
end
redis.call('DEL', KEYS[5])
for i = 1, #kept, 2 do redis.call('HSET', KEYS[5], kept[i], kept[i + 1]) end
return { 'OK' }
