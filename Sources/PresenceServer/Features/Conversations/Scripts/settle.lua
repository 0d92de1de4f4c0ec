-- uses: typing-lib, attachment-lib, conversation-lib
-- Called after inboxes were updated, with each user's setting of receipts. Users who joined receive the conversation
-- now. Users whose account was deleted are removed: an account's id is never used again, so this is right however late
-- the step comes. Users who are in too many conversations are removed if nothing has changed since that was found;
-- their inboxes are updated too, because another step may have found room. A direct conversation then has no members.
-- keys: unfinished, conversation, typing, log, changes, prints, attachments, attachmentsDue
-- args: intent, conversation, each(user, version, heard the setting of receipts or - for deleted or + for in too many,
--       isRequest)
-- replies: OK | FENCED
local c = conversationAt(conversationKey, conversation)
local changed, left, told, refused = false, false, {}, {}
for user, version, heard, isRequest in each() do
    local receipts, setting = string.match(heard, '^(%a) (%d+)$')
    local isAwaited = c.pending[user] == version
    if isAwaited then
        redis.call('HDEL', conversationKey, 'j:' .. user)
        c.pending[user] = nil
        if c.raw.request == user .. ' ?' then setField(c, 'request', isRequest == '1' and user or nil) end
    end
    if heard == '-' and c.members[user] then
        leave(c, user)
        left = true
    elseif heard == '+' and isAwaited and c.members[user] then
        for _, member in ipairs(c.raw.kind == 'direct' and membersOf(c) or { user }) do
            leave(c, member)
            refused[#refused + 1] = member
        end
        left = true
    end
    local m = c.members[user]
    -- Once, even if the step is repeated.
    if m and isAwaited then told[user] = true end
    if m and receipts and tonumber(setting) > m.setting then
        changed = changed or m.receipts ~= receipts
        m.receipts, m.setting = receipts, tonumber(setting)
        setMember(c, user)
    end
end
if left then
    succeed(c)
    empty(c, logKey, changesKey, printsKey, attachmentsKey, attachmentsDueKey)
end
if changed or left then
    bump(c)
elseif next(told) then
    c.news, c.only = c.version, told
end
if next(c.changed) or c.news then saveAndPublish(c) end
await(c, refused, unfinishedKey, intent)
if left then publishMembers(c, typingKey) end
if not next(c.pending) then
    redis.call('SREM', unfinishedKey, intent)
    keepNumbers(c)
end
return { 'OK' }
