-- flags: allow-oom
-- uses: account-lib, push-lib
-- Puts a decision off; it is made at once if the user has no session any more.
-- keys: push, pushed, sessions
-- args: user, conversation, decided is the newest number that was noted when it was read, wait in ms, newerWait in ms if a newer one
--       was noted since, seq of the message whose time it will be, held is the newest for which it is put off or 0, limit of the lease
--       (push-take), note when it was read
-- replies: OK(ms) | AGAIN(ms) if a message was deleted since or the lease has ended | GONE if another server has decided | FENCED
local entry = user .. ' ' .. conversation
if not redis.call('ZSCORE', pushKey, entry) then return { 'GONE' } end
if now >= tonumber(limit) then return { 'AGAIN', '0' } end
decided = tonumber(decided)
local first, newest, heldBefore, deletions = noted(pushedKey, conversation)
if deletions ~= select(4, parsedNote(note)) then
    -- A message that came while the decision was put off has a time of its own (noteDue).
    if first <= decided then redis.call('ZADD', pushKey, int(now), entry) end
    return { 'AGAIN', '0' }
end
wait = waitOf(sessionsKey, tonumber(newest > decided and newerWait or wait))
newest = math.max(newest, tonumber(seq))
-- Nothing was waited for yet where the decision is made at once: a session that comes back may be broken.
held = wait == 0 and heldBefore or math.max(heldBefore, tonumber(held))
putNoted(pushedKey, conversation, newest, newest, held, deletions)
redis.call('ZADD', pushKey, int(now + wait), entry)
return { 'OK', int(wait) }
