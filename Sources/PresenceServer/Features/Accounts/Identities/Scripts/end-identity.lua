-- flags: allow-oom
-- Ends the linking of an identity that was made or refused, or the release of identities.
-- keys: unfinished, user
-- args: intent, number of the wish that was refused or '', released what has been given up ("NUMBER IDENTITY …" or '')
-- replies: OK | OPEN(releasing) if something else is to be given up first | FENCED
local held = redis.call('HMGET', userKey, 'identityReleasing', 'identityWanted')
if held[1] and held[1] ~= released then return { 'OPEN', held[1] } end
redis.call('HDEL', userKey, 'identityReleasing')
if held[2] and string.match(held[2], '^%x+ (%d+) %d+$') == number then
    redis.call('HDEL', userKey, 'identityWanted')
    held[2] = nil
end
-- A later wish belongs to another executor.
if not held[2] then redis.call('SREM', unfinishedKey, intent) end
return { 'OK' }
