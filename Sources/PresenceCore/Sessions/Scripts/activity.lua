-- A session's user became active or idle.
-- KEYS: shards, floor, user, sessions, past (if it is kept)
-- ARGV: now, channel, incarnation, user, session, state (a or i), bounds of the past
-- Replies {OK}, {FENCED} or {GONE}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local values, held, changed = redis.call('HGETALL', KEYS[4]), {}, nil
for i = 1, #values, 2 do
    local value = values[i + 1]
    if values[i] == ARGV[5] then
        value = string.gsub(value, '^(%S+ %S+ %S+) %S', '%1 ' .. ARGV[6])
        changed = value
    end
    held[#held + 1] = value
end
if not changed then return { 'GONE' } end
redis.call('HSET', KEYS[4], ARGV[5], changed)
local user = read(ARGV[4], KEYS[3], KEYS[4], KEYS[2], ARGV[2], KEYS[5], ARGV[7])
user.sessions = held
lapse(user)
finish(user, now)
return { 'OK' }
