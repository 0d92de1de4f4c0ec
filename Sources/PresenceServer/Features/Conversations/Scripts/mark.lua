-- uses: typing-lib, attachment-lib, conversation-lib
-- Sets members' marks: the messages that reached their devices, and those that they have read. Marks only move forward.
-- The marks of several members are one change of the conversation, which is sent once, and only to members who see it.
-- keys: conversation
-- args: conversation, each(user who is there once, came up to which message or 0, upTo which it is read or 0,
--       hiddenFrom whom what comes to them is hidden: n for nobody; a for all; or s and users)
-- replies: OK(words of each user: OK or FORBIDDEN or "BANNED UNTIL REASON"; then the number of members) | FENCED
local c = conversationAt(conversationKey, conversation)

-- Notes from whom a member's deliveries are hidden. Those viewers keep the number that they saw before. Adds the
-- members who see a change to `alone`; returns true if all do.
local function hide(user, m, delivered, from, alone)
    local field, before, shown = 'h:' .. user, {}, {}
    local kind, names = string.match(from, '^(%a) ?(.*)$')
    if kind == 'n' and not c.raw[field] then return delivered ~= m.delivered end
    local all, rest = string.match(c.raw[field] or '', '^(%S+) ?(.*)$')
    all = tonumber(all or '')
    for name, seq in string.gmatch(rest or '', '(%S+) (%d+)') do before[name] = tonumber(seq) end
    local allBefore = all
    if kind == 'a' then
        shown, all = before, all or m.delivered
    else
        for name in string.gmatch(names, '%S+') do
            if c.members[name] and name ~= user then shown[name] = before[name] or all or m.delivered end
        end
        all = nil
    end
    local words = { all and int(all) or '-' }
    for name, seq in pairs(shown) do words[#words + 1] = name .. ' ' .. int(seq) end
    setField(c, field, (all or #words > 1) and table.concat(words, ' ') or nil)
    for name in pairs(c.members) do
        local was = before[name] or allBefore or m.delivered
        if was ~= (shown[name] or all or delivered) then alone[name] = true end
    end
    return false
end

local reply, isSeen, alone = { 'OK' }, false, {}
for user, came, upTo, hiddenFrom in each() do
    local m = c.members[user]
    local ban = m and banned(c.bans[user]) -- mutation: banned-marks
    reply[#reply + 1] = ban and table.concat(ban, ' ') or m and 'OK' or 'FORBIDDEN'
    if m and not ban then
        local read = math.max(m.read, math.min(tonumber(upTo), c.last)) -- mutation: mark-read
        local delivered = math.max(m.delivered, math.min(tonumber(came), c.last), read) -- mutation: mark-delivered
        local shown = m.shown
        local asked = isAsked(c, user) -- mutation: strangers-see-marks
        if read > m.read and m.receipts == 'e' and not asked then shown = read end
        if shown ~= m.shown or delivered ~= m.delivered or read ~= m.read then
            alone[user] = true
            local isToAll = hide(user, m, delivered, asked and 'a' or hiddenFrom, alone)
            isSeen = isSeen or isToAll or shown ~= m.shown
            m.read, m.shown, m.delivered = read, shown, delivered
            setMember(c, user)
        end
    end
end
updateDeleted(c)
-- Above what each of them has seen, so that all have one version, that of the event.
for user in pairs(alone) do c.seen = math.max(c.seen or 0, ownVersion(c, c.members[user])) end
if isSeen then
    bump(c)
else
    for user in pairs(alone) do bumpMember(c, user) end
end
if c.news then saveAndPublish(c) end
reply[#reply + 1] = int(c.size)
return reply
