-- uses: typing-lib, attachment-lib, conversation-lib
-- Inboxes have been told, and said who shows what they have read. Those who joined hear of the conversation now. Those whose
-- account was deleted meanwhile are in it no longer: an id of an account never comes back, so this holds however late it is. Nor
-- are those who are in too many, if nothing has changed since that was found; their inboxes are told so, for another step may
-- have found room. A direct conversation is then nobody's.
-- KEYS: shards, unfinished, floor, conversation, typing, log, changes, prints, attachments, attachments-due
-- ARGV: now, channel, incarnation, intent, conversation, then USER, version, receipts ('-': deleted, '+': in too
--       many) of each
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[4])
local changed, left, told, refused = false, false, {}, {}
for i = 6, #ARGV, 3 do
    local user, version, receipts, setting = ARGV[i], ARGV[i + 1], string.match(ARGV[i + 2], '^(%a) (%d+)$')
    local isAwaited = c.pending[user] == version
    if isAwaited then
        redis.call('HDEL', KEYS[4], 'j:' .. user)
        c.pending[user] = nil
    end
    if ARGV[i + 2] == '-' and c.members[user] then
        leave(c, user)
        left = true
    elseif ARGV[i + 2] == '+' and isAwaited and c.members[user] then
        for _, member in ipairs(c.raw.kind == 'direct' and membersOf(c) or { user }) do
            leave(c, member)
            refused[#refused + 1] = member
        end
        left = true
    end
    local m = c.members[user]
    -- Once, however often the step comes.
    if m and isAwaited then told[user] = true end
    if m and receipts and tonumber(setting) > m.setting then
        changed = changed or m.receipts ~= receipts
        m.receipts, m.setting = receipts, tonumber(setting)
        putMember(c, user)
    end
end
if left then
    succeed(c)
    empty(c, ARGV[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10])
end
if changed or left then
    bump(c, KEYS[3])
elseif next(told) then
    c.news, c.only = c.version, told
end
if next(c.changed) or c.news then save(c, ARGV[2], ARGV[5]) end
await(c, refused, KEYS[2], ARGV[4])
if left then tellMembers(c, ARGV[2], ARGV[5], KEYS[5], KEYS[3]) end
if not next(c.pending) then
    redis.call('SREM', KEYS[2], ARGV[4])
    keepNumbers(c)
end
return { 'OK' }
