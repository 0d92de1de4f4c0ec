-- flags: allow-oom
-- A user has a message that none of their devices has: a push is due now if they have no session, or after a while in which one of
-- them may get it. Once for each conversation until it is read.
--   push    sorted set of the partition: "USER CONVERSATION" by when it is due
--   pushed  hash of the user: conversation -> number of the newest message when they were last pushed for it; with a space
--           before it: number of the message for which a push is noted
-- KEYS: shards, push, pushed, sessions
-- ARGV: now, channel, incarnation, user, conversation, number of the message, that of the newest one that they have read, ms to
--       wait
-- Replies {OK, ms until it is due}, {TOLD} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local told = redis.call('HGET', KEYS[3], ARGV[5])
if told and tonumber(told) > tonumber(ARGV[7]) then return { 'TOLD' } end
local wait = redis.call('EXISTS', KEYS[4]) == 1 and tonumber(ARGV[8]) or 0
if redis.call('ZADD', KEYS[2], 'NX', int(now + wait), ARGV[4] .. ' ' .. ARGV[5]) == 1 then
    redis.call('HSET', KEYS[3], ' ' .. ARGV[5], ARGV[6])
end
return { 'OK', int(wait) }
