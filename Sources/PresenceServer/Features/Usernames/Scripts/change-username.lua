-- uses: claim-lib profile-lib account-lib
-- Sets or removes a user's username, in account and profile in the same step.
-- keys: unfinished, user, directory
-- args: intent, user, number
-- replies: OK(releasing) | GONE(last) | FENCED
local isThere = redis.call('HEXISTS', userKey, 'version') == 1
if not isThere then
    -- A sign-up that failed before the account existed, or a request of a user who has just deleted their account.
    local kept = redis.call('HMGET', userKey, 'held', 'releasing')
    if not kept[1] and not kept[2] then
        dropRecord(userKey)
        redis.call('SREM', unfinishedKey, intent)
        return { 'GONE', '0' }
    end
end
local reply, isChanged = fulfil(userKey, number)
if isChanged and isThere then
    local shown = shownOf(userKey)
    changeProfile(channel, user, userKey, floorKey, { username = shown and '"' .. shown .. '"' or '' }, directoryKey)
    accountChanged(user, userKey)
end
return reply
