-- uses: account-lib, push-lib, notification-lib
-- Stores one notification for users of one partition: a backend's, or that of a message. A user who has one with this id gets
-- nothing, unless the same was pushed anew since. The user's settings decide whether it comes into the list, and whether it is pushed.
-- A push of it is scheduled in the same step, so there is one for each.
-- keys: push, each(notifications, notificationMarks, sessions, user)
-- args: keep so many, keepFor so many ms, id, collapse or '', json between seq and time, told at that time in ms since 1970; '': an
--       id is stored once, wait in ms in which a session may get it before its push is decided; '': no push, kind as JSON, each(user)
-- replies: OK(now, USER, its seq, ... of those whose list has it) | FENCED
keep, keepFor = tonumber(keep), tonumber(keepFor)
local idHash, collapseHash = short(id), collapse ~= '' and short(collapse) or NONE
local reply, place = { 'OK', int(now) }, 0
told = tonumber(told)
-- Whether the same was pushed since a known notification. A time ahead of the clock is from before the clock went back.
local function isAnew(known) return told and (known < told or told <= now and now < known) end -- mutation: pushed-anew
local function store(user, entriesKey, marksKey, sessionsKey, userKey)
    local inInbox, isPushed = wishes(redis.call('HGET', userKey, 'notify'), kind) -- mutation: kinds-are-heeded
    isPushed = isPushed and wait ~= ''
    if not inInbox and not isPushed then return end
    local b = notificationsAt(entriesKey, marksKey, floorKey, keep, keepFor)
    local news, known = { replaces = {} }, find(b, idHash, 1, 1)
    if known and isAnew(timeOf(b, known)) then
        if stateOf(b, known) ~= 'x' then news.replaces[1] = int(seqOf(b, known)) end
        drop(b, known)
        known = nil
    end
    if not known then -- mutation: stored-again
        local old = collapseHash ~= NONE and find(b, collapseHash, 9, 1)
        while old do
            local state = stateOf(b, old)
            if state == 'u' then
                news.replaces[#news.replaces + 1] = int(seqOf(b, old)) -- mutation: replaced-are-named
            end
            if state == 'u' or state == 'p' then
                retire(b, old) -- mutation: replaced-retire
            end
            old = find(b, collapseHash, 9, old + 1)
        end
        b.last = b.last + 1
        append(b, idHash, collapseHash, b.last, told)
        local item = '{"seq":' .. int(b.last) .. json .. ',"at":' .. int(now)
        if inInbox then news.item = item else setState(b, #b.states, 'p') end
        trim(b, keep, keepFor)
        if isPushed then
            -- A newer push with the same tag takes the place of the one that a device shows.
            local tag = string.sub(redis.sha1hex(collapse ~= '' and collapse or id), 1, 16)
            schedulePush(pushKey, user .. ' #' .. int(b.last) .. '.' .. tag, sessionsKey, tonumber(wait)) -- mutation: notified-is-noted
        end
        redis.call('HSET', b.entries, (inInbox and '' or 'push ') .. int(b.last), item)
        redis.call('PEXPIRE', b.entries, int(keepFor))
        offer(inInbox and 'notification.created' or 'push.noted', user .. ' ' .. item .. '}')
        if inInbox then
            reply[#reply + 1] = user
            reply[#reply + 1] = int(b.last)
        end
    end
    if b.changed then save(b, channel, user, news) end
end
for user in each() do
    place = place + 1
    store(user, eachKey(place))
end
return reply
