-- Changes a profile. Members are kept encoded; the register is {"version":VERSION,BODY.
-- KEYS: shards, floor, user
-- ARGV: now, channel, incarnation, user, then pairs: member, encoded value or '' to remove
-- Replies {OK, version, BODY} or {FENCED}.
local members = { 'displayName', 'photoURL', 'timezone', 'locale' }
local channel, user = ARGV[2], ARGV[4]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local held = redis.call('HMGET', KEYS[3], 'profileVersion', 'profile', 'createdAt',
    'displayName', 'photoURL', 'timezone', 'locale')
local values, changed = {}, not held[1]
for i, member in ipairs(members) do values[member] = held[i + 3] end
for i = 5, #ARGV, 2 do
    local value = ARGV[i + 1] ~= '' and ARGV[i + 1] or false
    if values[ARGV[i]] ~= value then
        changed = true
        values[ARGV[i]] = value
        if value then
            redis.call('HSET', KEYS[3], ARGV[i], value)
        else
            redis.call('HDEL', KEYS[3], ARGV[i])
        end
    end
end
if not changed then return { 'OK', held[1], held[2] } end

local createdAt = held[3] or int(now)
local parts = {}
for _, member in ipairs(members) do
    if values[member] then parts[#parts + 1] = '"' .. member .. '":' .. values[member] end
end
parts[#parts + 1] = '"createdAt":' .. createdAt
parts[#parts + 1] = '"updatedAt":' .. int(now)
local body = table.concat(parts, ',') .. '}'
local version = int(nextVersion(held[1], KEYS[2]))
redis.call('HSET', KEYS[3], 'profileVersion', version, 'profile', body, 'createdAt', createdAt)
redis.call('PUBLISH', channel, table.concat({ 'F', user, version, int(now), body }, ' '))
return { 'OK', version, body }
