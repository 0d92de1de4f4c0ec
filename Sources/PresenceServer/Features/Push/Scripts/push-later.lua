-- flags: allow-oom
-- uses: account-lib, push-lib
-- Whether a push is needed is decided later.
-- KEYS: shards, push, pushed
-- ARGV: now, channel, incarnation, user, conversation, newest number that was noted when it was looked at, ms to wait, ms to wait
--       if a newer one was noted since, number of the message whose time it will be, newest for which it is put off (0: none),
--       until when it was taken (push-take), what was noted when it was looked at
-- Replies {OK, ms}, {AGAIN, ms} if a message was deleted since or what it was decided on was read too long ago, {GONE} if another
-- has decided, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local entry = ARGV[4] .. ' ' .. ARGV[5]
if not redis.call('ZSCORE', KEYS[2], entry) then return { 'GONE' } end
if now >= tonumber(ARGV[11]) then return { 'AGAIN', '0' } end
local first, newest, held, deletions = noted(KEYS[3], ARGV[5])
if deletions ~= select(4, parsedNote(ARGV[12])) then
    -- One that came while the decision was put off has a time of its own (push-note).
    if first <= tonumber(ARGV[6]) then redis.call('ZADD', KEYS[2], int(now), entry) end
    return { 'AGAIN', '0' }
end
local wait = tonumber(newest > tonumber(ARGV[6]) and ARGV[8] or ARGV[7])
newest = math.max(newest, tonumber(ARGV[9]))
putNoted(KEYS[3], ARGV[5], newest, newest, math.max(held, tonumber(ARGV[10])), deletions)
redis.call('ZADD', KEYS[2], int(now + wait), entry)
return { 'OK', int(wait) }
