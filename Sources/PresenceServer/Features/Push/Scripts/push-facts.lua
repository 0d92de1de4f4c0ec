-- flags: no-writes
-- uses: account-lib, push-lib
-- The facts in a user's partition that a push rests on.
-- keys: push, pushed, sessions, blocks, devices, grants, user
-- args: user, conversation, platform, token as JSON or '' if no device is in question, idle ms after which an unused session has ended
-- replies: OK(record or '', seq of the last push that counts or 0, its time, whether a decision is due, whether there is a session,
--       whether one is active, whether the device may be pushed to, settings of notifications or '', whether the user is busy, now, each
--       blocked user)
local record = pushAt(pushedKey, conversation)
local due = redis.call('ZSCORE', pushKey, user .. ' ' .. conversation) and '1' or '0'
local isHere, isActive, isCurrent = hasSession(sessionsKey) and '1' or '0', '0', '0'
for _, value in ipairs(redis.call('HVALS', sessionsKey)) do
    if select(4, session(value)) == 'a' then isActive = '1' end
end
for _, device in ipairs(token ~= '' and devicesOf(devicesKey, grantsKey, userKey, tonumber(idle)) or {}) do
    if device.platform == platform and device.token == token then isCurrent = '1' end
end
local held = redis.call('HMGET', userKey, 'notify', 'status')
local reply = { 'OK', record.text, int(record.seq), record.at, due, isHere, isActive, isCurrent, held[1] or '', held[2] == 'busy' and '1' or '0', int(now) }
for _, blocked in ipairs(redis.call('SMEMBERS', blocksKey)) do reply[#reply + 1] = blocked end
return reply
