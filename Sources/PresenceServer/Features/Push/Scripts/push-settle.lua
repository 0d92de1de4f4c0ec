-- flags: allow-oom
-- uses: account-lib, push-lib
-- Carries out a decision: a push is offered, with the newest 20 devices that may be pushed to; or it is decided again after a time; or
-- neither.
-- keys: push, pushed, devices, grants, user, inbox, sessions
-- args: user, conversation or #SEQ.TAG of a notification, limit until which the decision is valid, idle ms after which an unused session has ended, seq of the
--       message, contents of the push as members or '' without a push, known is the record when it was read, wait in ms that is left
--       to a session of the user or 0, platforms that this installation sends to with a space on both sides of each, taken is the end
--       of the lease (push-take)
-- replies: OK(ms until it is decided again or '') | GONE if another server has decided | FENCED
local entry, most = user .. ' ' .. conversation, 20
local due = tonumber(redis.call('ZSCORE', pushKey, entry) or '')
if not due then return { 'GONE' } end
limit, wait = tonumber(limit), tonumber(wait)
-- A message that was noted since the entry was taken has set a time of its own.
local isNewest = due == tonumber(taken)
local function again(after)
    if isNewest or now + after < due then due = now + after end
    redis.call('ZADD', pushKey, int(due), entry)
    return { 'OK', int(math.max(0, due - now)) }
end
-- Another server may have taken it since.
if now >= limit then return again(due - now) end
local record, isPush = pushAt(pushedKey, conversation), contents ~= ''
if record.text ~= known then return again(0) end
-- A user who has left the conversation since it was read gets no push of it, nor one whose account is deleted. Where only the inbox
-- does not know yet that the user is back, it is decided again as well.
local hasLeft = string.sub(redis.call('HGET', inboxKey, conversation) or '', 1, 4) == 'out '
local isDeleted, isNotification = redis.call('HEXISTS', userKey, 'deletedAt') == 1, string.sub(conversation, 1, 1) == '#'
-- A backend may notify a deleted account.
if isPush and isDeleted and isNotification then
    redis.call('ZREM', pushKey, entry)
    return { 'OK', '' }
end
if isPush and (hasLeft or isDeleted) then return again(due - now) end
if wait > 0 and (not isPush or hasSession(sessionsKey)) then return again(hasSession(sessionsKey) and wait or 0) end
local reply = { 'OK', '' }
-- Nothing newer can be noted of a notification: another server that has taken it too finds none.
if isNewest or isNotification then -- mutation: newer-is-decided
    redis.call('ZREM', pushKey, entry)
else
    reply = again(due - now)
end
if not isPush then return reply end
local devices = devicesOf(devicesKey, grantsKey, userKey, tonumber(idle))
table.sort(devices, function(a, b) return a.at > b.at end)
local shown, names = {}, ''
for i = 1, math.min(#devices, most) do
    local platform, token = devices[i].platform, devices[i].token
    local name = platform == 'web' and 'subscription' or 'pushToken'
    shown[i] = '{"platform":"' .. platform .. '","' .. name .. '":' .. token .. '}'
    names = names .. ' ' .. deviceName(platform, token, platforms)
end
-- A notification is noted once (notify), so its push need not be remembered.
if not isNotification then
    putPush(pushedKey, conversation, record, seq, int(now), names) -- mutation: push-is-remembered
end
offer('push.due', user .. ' ' .. contents .. ',"devices":[' .. table.concat(shown, ',') .. ']', seq)
return reply
