-- uses: profile-lib account-lib
-- Changes what users may change of their account and profile, all or nothing.
-- KEYS: shards, floor, user, account
-- ARGV: now, channel, incarnation, user, then triples: p (profile) or a (account), member, encoded value or '' to remove
-- Replies {OK, account, version, profile version, profile's BODY}, {FENCED} or {NONE}.
local channel, user = ARGV[2], ARGV[4]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if redis.call('HEXISTS', KEYS[4], 'email') == 0 then return { 'NONE' } end
local changes, changed = {}, false
for i = 5, #ARGV, 3 do
    local member, value = ARGV[i + 1], ARGV[i + 2]
    if ARGV[i] == 'p' then
        changes[member] = value
    elseif (redis.call('HGET', KEYS[4], member) or '') ~= value then
        changed = true
        if value ~= '' then
            redis.call('HSET', KEYS[4], member, value)
        else
            redis.call('HDEL', KEYS[4], member)
        end
    end
end
local body, version
if changed then
    body, version = accountChanged(channel, user, KEYS[4], KEYS[2])
else
    body, version = account(user, KEYS[4])
end
local profileVersion, profile = changeProfile(channel, user, KEYS[3], KEYS[2], changes)
return { 'OK', body, version, profileVersion, profile }
