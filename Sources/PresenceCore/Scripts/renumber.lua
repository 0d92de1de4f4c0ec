-- After Redis lost changes: a register that is older than what watchers were shown gets a version above it,
-- so that what they are told now replaces what they hold.
-- KEYS: shards, floor, user
-- ARGV: now, channel, incarnation, user, presence version shown, profile version shown
-- Replies {OK} or {FENCED}.
local channel, user = ARGV[2], ARGV[4]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local function raise(kind, field, body, shown)
    local version = tonumber(redis.call('HGET', KEYS[3], field) or '0')
    if version == 0 or version >= shown then return end
    local raised = int(nextVersion(shown, KEYS[2]))
    redis.call('HSET', KEYS[3], field, raised)
    publish(channel, kind, user, raised, int(now), redis.call('HGET', KEYS[3], body))
end
raise('P', 'presenceVersion', 'presence', tonumber(ARGV[5]))
raise('F', 'profileVersion', 'profile', tonumber(ARGV[6]))
return { 'OK' }
