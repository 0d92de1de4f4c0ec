-- A user lets others see what they have read, or does not. An intent's first step: their conversations hear of it afterwards.
-- It stands among who may see them too, for their own sessions (visibility.lua).
-- KEYS: shards, unfinished, floor, user
-- ARGV: now, channel, incarnation, intent, user, e or n
-- Replies {OK}, {FENCED}, or the error DAMAGED if who may see them cannot be read.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local held = redis.call('HMGET', KEYS[4], 'receipts', 'visibility')
local receipts, number = string.match(held[1] or 'e 0', '^(%a) (%d+)$')
local version, state, shown = string.match(held[2] or '0 e e 0 0', '^(%d+) ([ecn] [ecn] %d+ %d+) ?([en]?)$')
if not version then return redis.error_reply('DAMAGED the visibility of a user cannot be read') end
if shown ~= ARGV[6] then
    version = int(nextVersion(version, KEYS[3]))
    redis.call('HSET', KEYS[4], 'visibility', version .. ' ' .. state .. ' ' .. ARGV[6])
    redis.call('PUBLISH', ARGV[2],
        table.concat({ 'V', ARGV[5], version, int(now), state, '- =' .. ARGV[6] }, ' '))
end
if receipts == ARGV[6] then return { 'OK' } end
redis.call('HSET', KEYS[4], 'receipts', ARGV[6] .. ' ' .. int(nextVersion(number, KEYS[3])))
redis.call('SADD', KEYS[2], ARGV[4])
return { 'OK' }
