-- uses: typing-lib
-- A session's user types, or stopped.
-- KEYS: shards, floor, conversation, typing
-- ARGV: now, channel, incarnation, conversation, user, session, 1 or 0, expiry in ms
-- Publishes "T conversation version at USER:MS …". Replies {OK}, {FENCED} or {FORBIDDEN}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if redis.call('HEXISTS', KEYS[3], 'm:' .. ARGV[5]) == 0 then return { 'FORBIDDEN' } end
local left, version, lapsed, most = typists(KEYS[4], true)
local _, before = listed(left)
local field = ARGV[5] .. ' ' .. ARGV[6]
if ARGV[7] == '1' then
    redis.call('HSET', KEYS[4], field, int(now + tonumber(ARGV[8])), '#most', int(math.max(most, tonumber(ARGV[8]))))
    -- Nobody types for long: what is forgotten here goes by itself, and versions follow the clock.
    redis.call('PEXPIRE', KEYS[4], int(tonumber(ARGV[8]) + 3600000))
elseif redis.call('HDEL', KEYS[4], field) == 0 and lapsed == 0 then
    return { 'OK' }
end
left, version = typists(KEYS[4], true)
local list, after = listed(left)
if before ~= after or lapsed > 0 then version = typingVersion(KEYS[4], KEYS[2], version, lapsed) end
publish(ARGV[2], 'T', ARGV[4], int(version), int(now), list)
return { 'OK' }
