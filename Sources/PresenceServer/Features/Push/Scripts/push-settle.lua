-- flags: allow-oom
-- uses: account-lib, push-lib
-- Carries out a decision: a push is offered, with the newest 20 devices that may be pushed to; or it is held; or it is decided again
-- after a time; or none of these.
-- keys: push, pushed, devices, grants, user, inbox, sessions, held, notifications
-- args: user, conversation or #SEQ.TAG of a notification, limit until which the decision is valid, idle ms after which an unused session has ended, seq of the
--       message, contents of the push as members or '' without a push, known is the record when it was read, wait in ms that is left
--       to a session of the user or 0, platforms that this installation sends to with a space on both sides of each, leaseEnd of
--       the entry (push-take), hold until this time or '' or never if the user wants no push of it, isNoticed 1 if messages become
--       notifications
-- replies: OK(ms until it is decided again or '') | GONE if another server has decided | FENCED
local entry = user .. ' ' .. conversation
local due = tonumber(redis.call('ZSCORE', pushKey, entry) or '')
if not due then return { 'GONE' } end
limit, wait = tonumber(limit), tonumber(wait)
-- A message that was scheduled since the entry was taken has set a time of its own.
local isNewest = due == tonumber(leaseEnd)
local function decideIn(after)
    if isNewest or now + after < due then due = now + after end
    redis.call('ZADD', pushKey, int(due), entry)
    return { 'OK', int(math.max(0, due - now)) }
end
-- Another server may have taken it since.
if now >= limit then return decideIn(due - now) end
local record, isPush = pushAt(pushedKey, conversation), contents ~= ''
if record.text ~= known then return decideIn(0) end
-- A user who has left the conversation since it was read gets no push of it, nor one whose account is deleted. Where only the inbox
-- does not know yet that the user is back, it is decided again as well.
local hasLeft = string.sub(redis.call('HGET', inboxKey, conversation) or '', 1, 4) == 'out '
local isDeleted, isNotification = redis.call('HEXISTS', userKey, 'deletedAt') == 1, string.sub(conversation, 1, 1) == '#'
-- A backend may notify a deleted account.
if isPush and isDeleted and isNotification then
    redis.call('ZREM', pushKey, entry)
    return { 'OK', '' }
end
if isPush and (hasLeft or isDeleted) then return decideIn(due - now) end
if wait > 0 and (not isPush or hasSession(sessionsKey)) then return decideIn(hasSession(sessionsKey) and wait or 0) end
local reply = { 'OK', '' }
-- Nothing newer can be scheduled of a notification: another server that has taken it too finds none.
if isNewest or isNotification then -- mutation: newer-is-decided
    redis.call('ZREM', pushKey, entry)
else
    reply = decideIn(due - now)
end
-- Without a push, nothing is held any more: from the next message on it is decided as usual.
if not isPush then
    if isHeld(record) then setPush(pushedKey, conversation, record, 0, '0', '') end -- mutation: held-is-cleared
    if isNotification then dropPushed(pushedKey, notificationsKey, conversation) end
    return reply
end
if hold ~= '' then
    if hold == 'never' then
        setPush(pushedKey, conversation, record, seq, int(now), '')
    else
        holdPush(heldKey, user, pushedKey, notificationsKey, conversation, record, seq, hold)
    end
    -- The list of notifications does not wait. It has the message if that is held already.
    local isKnown = isNotification or isHeld(record) and record.seq == tonumber(seq)
    if isNoticed == '1' and not isKnown then
        offer('push.held', user .. ' ' .. contents .. ',"devices":[]', seq)
    end
    return reply
end
local devices, names = newestDevices(devicesKey, grantsKey, userKey, tonumber(idle), platforms)
if isNotification then
    -- It is scheduled once (notify), so its push need not be remembered.
    dropPushed(pushedKey, notificationsKey, conversation)
else
    setPush(pushedKey, conversation, record, seq, int(now), names) -- mutation: push-is-remembered
end
-- The message may have a notification since it was held.
local about = isHeld(record) and seq .. ' held' or seq
offer('push.due', user .. ' ' .. contents .. ',' .. devices, about)
return reply
