-- uses: typing-lib, attachment-lib, conversation-lib
-- A backend sets who is in a conversation; nobody: it ends. What was direct becomes a group. An intent's first step: the
-- inboxes of those who came and went are told afterwards.
-- keys: unfinished, conversation, typing, log, changes, prints, attachments, attachmentsDue
-- args: intent, conversation, each(user)
-- replies: OK | FENCED
local c = conversationAt(conversationKey, conversation)
local staying, touched = {}, {}
for user in each() do staying[user] = true end
if not c.exists and not next(staying) then return { 'OK' } end
for _, user in ipairs(membersOf(c)) do
    if not staying[user] then
        leave(c, user)
        touched[#touched + 1] = user
    end
end
for user in each() do
    if not c.members[user] then
        join(c, user)
        touched[#touched + 1] = user
    end
end
if #touched == 0 then return { 'OK' } end
if not c.raw.createdAt then put(c, 'createdAt', int(now)) end
put(c, 'kind', 'group')
put(c, 'pair', nil)
succeed(c)
empty(c, logKey, changesKey, printsKey, attachmentsKey, attachmentsDueKey)
bump(c)
save(c)
await(c, touched, unfinishedKey, intent)
tellMembers(c, typingKey)
return { 'OK' }
