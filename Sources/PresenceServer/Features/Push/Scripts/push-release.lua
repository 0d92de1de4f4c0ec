-- flags: allow-oom
-- uses: account-lib, push-lib
-- Carries out a decision about the pushes that are held for a user: they stay held; or one summary of them is offered; or the only one
-- that is still wanted is scheduled, and decided as usual. Those that are not wanted any more are forgotten.
-- keys: push, pushed, devices, grants, user, held, notifications, sessions
-- args: user, limit until which the decision is valid, leaseEnd of the entry (push-take), later time until which they stay held
--       or '', contents of the summary as members or '' for none, idle ms after which an unused session has ended, platforms that this
--       installation sends to with a space on both sides of each, isMore 1 if there are more than are listed, each(place, known is
--       its record when it was read, fate: alone or drop or the seq of the newest message that the summary stands for)
-- replies: OK(ms until it is decided again or '') | GONE | FENCED
local due = tonumber(redis.call('ZSCORE', heldKey, user) or '')
-- Another server has decided.
if not due then return { 'GONE' } end
local function again(time)
    redis.call('ZADD', heldKey, int(time), user)
    return { 'OK', int(math.max(0, time - now)) }
end
-- Another server may have taken it since.
if now >= tonumber(limit) then return again(due) end
-- It may be due again since it was taken: the settings have changed.
if later ~= '' then return again(due == tonumber(leaseEnd) and tonumber(later) or due) end
local listed = {}
for place, known in each() do
    listed[place] = true
    if pushAt(pushedKey, place).text ~= known then return again(now) end
end
local others = {}
for _, place in ipairs(heldPlaces(pushedKey)) do
    if not listed[place] then others[#others + 1] = place end
end
-- One that has been held since it was read.
if #others > 0 and isMore ~= '1' then return again(now + 1000) end
local isDeleted = redis.call('HEXISTS', userKey, 'deletedAt') == 1
local devices, names = newestDevices(devicesKey, grantsKey, userKey, tonumber(idle), platforms)
local function settle(place, fate)
    local record = pushAt(pushedKey, place)
    if fate == 'alone' then
        schedulePush(pushKey, user .. ' ' .. place, sessionsKey, 0) -- mutation: released-is-noted
    elseif string.sub(place, 1, 1) == '#' then
        dropPushed(pushedKey, notificationsKey, place)
    elseif fate == 'drop' then
        setPush(pushedKey, place, record, 0, '0', '')
    else
        setPush(pushedKey, place, record, fate, int(now), names) -- mutation: summary-is-remembered
    end
end
for place, _, fate in each() do settle(place, fate) end
if contents == '' then
    if #others > 0 then return again(now) end
else
    for _, place in ipairs(others) do settle(place, pushAt(pushedKey, place).seq) end
    setPush(pushedKey, '~', pushAt(pushedKey, '~'), 1, int(now), names)
    if not isDeleted then offer('push.due', user .. ' ' .. contents .. ',' .. devices, '0') end
end
redis.call('ZREM', heldKey, user) -- mutation: summary-is-made-once
return { 'OK', '' }
