-- flags: allow-oom
-- uses: account-lib, push-lib
-- A user has a message that none of their devices has: a push is due now if they have no session, or after a while in which one of
-- them may get it. Once for each conversation until it is read.
--   push    sorted set of the partition: "USER CONVERSATION" by when it is due
--   pushed  hash of the user: conversation -> what they were last pushed for and have not read; with a space before it: what
--           is noted (push-lib)
-- KEYS: shards, push, pushed, sessions
-- ARGV: now, channel, incarnation, user, conversation, number of the message, that of the newest one that they have read, ms to
--       wait
-- Replies {OK, ms until it is due}, {TOLD} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local told = redis.call('HGET', KEYS[3], ARGV[5])
if told and tonumber(string.match(told, '^%d+')) > tonumber(ARGV[7]) then return { 'TOLD' } end
local wait = redis.call('EXISTS', KEYS[4]) == 1 and tonumber(ARGV[8]) or 0
local entry, seq = ARGV[4] .. ' ' .. ARGV[5], tonumber(ARGV[6])
local first, newest, held = noted(KEYS[3], ARGV[5])
if redis.call('ZADD', KEYS[2], 'NX', int(now + wait), entry) == 1 then
    putNoted(KEYS[3], ARGV[5], seq, seq, 0)
elseif seq > newest then
    -- A decision that is under way must see that there is a newer one. One that comes while the decision is put off has its own time.
    if newest <= held then
        first = seq
        redis.call('ZADD', KEYS[2], 'LT', int(now + wait), entry)
    end
    putNoted(KEYS[3], ARGV[5], first, seq, held)
end
return { 'OK', int(wait) }
