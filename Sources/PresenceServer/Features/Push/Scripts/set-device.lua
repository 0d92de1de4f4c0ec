-- A session's device can be pushed to, or not any more. Devices of sessions that have ended go with it.
-- KEYS: shards, devices, grants
-- ARGV: now, channel, incarnation, device (g:GRANT of a session of ours, or - for tokens of the app's own), platform ('' to
--       remove it), token as JSON
--   devices  hash of the user: device -> "PLATFORM AT TOKEN"
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
for _, device in ipairs(redis.call('HKEYS', KEYS[2])) do
    local grant = string.match(device, '^g:(.+)$')
    if grant and redis.call('HEXISTS', KEYS[3], grant) == 0 then redis.call('HDEL', KEYS[2], device) end
end
if ARGV[5] == '' then
    redis.call('HDEL', KEYS[2], ARGV[4])
else
    redis.call('HSET', KEYS[2], ARGV[4], ARGV[5] .. ' ' .. int(now) .. ' ' .. ARGV[6])
end
return { 'OK' }
