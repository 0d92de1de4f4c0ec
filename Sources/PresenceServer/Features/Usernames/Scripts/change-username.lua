-- uses: claim-lib profile-lib account-lib
-- A user has another username from now on, or none: account and profile say so in the same moment.
-- KEYS: shards, unfinished, record, floor, user, account
-- ARGV: now, channel, incarnation, intent, owner, number
-- Replies what `fulfil` returns, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local channel, user = ARGV[2], ARGV[5]
local isThere = redis.call('HEXISTS', KEYS[6], 'email') == 1
if not isThere then
    -- A sign-up that broke off before there was an account, or a wish of somebody who has just deleted theirs.
    local kept = redis.call('HMGET', KEYS[3], 'held', 'releasing')
    if not kept[1] and not kept[2] then
        redis.call('DEL', KEYS[3])
        redis.call('SREM', KEYS[2], ARGV[4])
        return { 'GONE', '0' }
    end
end
local reply, isChanged = fulfil(KEYS[3], ARGV[6])
if isChanged and isThere then
    setUsername(KEYS[6], redis.call('HGET', KEYS[3], 'heldAs'))
    changeProfile(channel, user, KEYS[5], KEYS[4], { username = usernameOf(KEYS[6]) })
    accountChanged(channel, user, KEYS[6], KEYS[4])
end
return reply
