-- Claims an address for an account: the only judge of who was first.
-- KEYS: shards, email
-- ARGV: now, incarnation, user, number
-- Replies {OK}, {FENCED} or {TAKEN, claim}.
if fenced(KEYS[1], ARGV[2]) then return { 'FENCED' } end
local claim = redis.call('GET', KEYS[2])
if claim then
    local user, number = string.match(claim, '^(%S+) (%d+)$')
    if user ~= ARGV[3] then return { 'TAKEN', claim } end
    if tonumber(number) > tonumber(ARGV[4]) then return { 'OK' } end
end
redis.call('SET', KEYS[2], ARGV[3] .. ' ' .. ARGV[4])
return { 'OK' }
