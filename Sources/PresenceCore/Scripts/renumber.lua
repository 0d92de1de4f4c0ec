-- After Redis lost changes: a register that is older than what watchers were shown gets a version above it,
-- so that what they are told now replaces what they hold.
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
