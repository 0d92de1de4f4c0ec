-- After Redis lost changes: gives a register that is older than the version shown to watchers a version above that, so
-- that watchers accept it.
-- keys: user
-- args: user, presence version that was shown, profile version that was shown
-- replies: OK | FENCED
local function raise(kind, field, body, shown)
    local version = tonumber(redis.call('HGET', userKey, field) or '0')
    if version == 0 or version >= shown then return end
    local raised = int(nextVersion(shown, floorKey))
    redis.call('HSET', userKey, field, raised)
    publish(channel, kind, user, raised, int(now), redis.call('HGET', userKey, body))
end
raise('P', 'presenceVersion', 'presence', tonumber(presence))
raise('F', 'profileVersion', 'profile', tonumber(profile))
return { 'OK' }
