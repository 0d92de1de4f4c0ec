-- Claims an address for an account: the only judge of who was first.
-- KEYS: shards, unfinished, emails
-- ARGV: now, channel, incarnation, intent, user, number, address
-- Replies {OK}, {FENCED} or {TAKEN, claim}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local claim = redis.call('HGET', KEYS[3], ARGV[7])
if claim then
    local user, number = string.match(claim, '^(%S+) (%d+)$')
    if user ~= ARGV[5] then return { 'TAKEN', claim } end
    if tonumber(number) > tonumber(ARGV[6]) then return { 'OK' } end
end
redis.call('HSET', KEYS[3], ARGV[7], ARGV[5] .. ' ' .. ARGV[6])
return { 'OK' }
