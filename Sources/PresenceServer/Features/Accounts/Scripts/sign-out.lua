-- flags: allow-oom
-- uses: account-lib
-- Signs devices out.
-- KEYS: shards, grants
-- ARGV: now, channel, incarnation, user, grant ('' for all)
-- Replies {OK, how many} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local before = redis.call('HLEN', KEYS[2])
if ARGV[5] == '' then
    signOutOthers(ARGV[2], ARGV[4], KEYS[2], '')
elseif redis.call('HEXISTS', KEYS[2], ARGV[5]) == 1 then
    signOut(ARGV[2], ARGV[4], KEYS[2], { ARGV[5] })
end
return { 'OK', int(before - redis.call('HLEN', KEYS[2])) }
