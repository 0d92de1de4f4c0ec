-- uses: account-lib
-- A backend disables an account, which signs it out everywhere and ends a change of its address, or enables it.
-- KEYS: shards, user, account, grants
-- ARGV: now, channel, incarnation, user, 1 or ''
-- Replies {OK}, {FENCED} or {NONE}.
local channel, user = ARGV[2], ARGV[4]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if redis.call('HEXISTS', KEYS[3], 'email') == 0 then return { 'NONE' } end
if ARGV[5] == '' then
    redis.call('HDEL', KEYS[3], 'disabled')
else
    redis.call('HSET', KEYS[3], 'disabled', '1')
    redis.call('HDEL', KEYS[3], 'reset')
    dropChange(KEYS[3])
    signOutOthers(channel, user, KEYS[4], '')
end
return { 'OK' }
