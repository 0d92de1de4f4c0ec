-- Sets whether others see what a user has read. First step of an intent: the user's conversations take the setting
-- afterwards. The user's visibility has it too, for their own sessions (visibility.lua). Replies the error DAMAGED if
-- the visibility cannot be read.
-- keys: unfinished, user
-- args: intent, user, wanted e or n
-- replies: OK | FENCED
local held = redis.call('HMGET', userKey, 'receipts', 'visibility', 'findable')
local receipts, number = string.match(held[1] or 'e 0', '^(%a) (%d+)$')
local version, state, shown = string.match(held[2] or '0 e e 0 0', '^(%d+) ([ecn] [ecn] %d+ %d+) ?([en]?)$')
if not version then return redis.error_reply('DAMAGED the visibility of a user cannot be read') end
if shown ~= wanted then
    version = int(nextVersion(version, floorKey))
    redis.call('HSET', userKey, 'visibility', version .. ' ' .. state .. ' ' .. wanted)
    redis.call('PUBLISH', channel, table.concat({ 'V', user, version, int(now), state, '- =' .. wanted .. (held[3] or '') }, ' '))
end
if receipts == wanted then return { 'OK' } end
redis.call('HSET', userKey, 'receipts', wanted .. ' ' .. int(nextVersion(number, floorKey)))
redis.call('SADD', unfinishedKey, intent)
return { 'OK' }
