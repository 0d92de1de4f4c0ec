-- uses: typing-lib, attachment-lib, conversation-lib
-- A backend sets the members of a conversation, which ends without members. A direct conversation becomes a group.
-- First step of an intent: the inboxes are updated afterwards.
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
if not c.raw.createdAt then setField(c, 'createdAt', int(now)) end
setField(c, 'kind', 'group')
setField(c, 'pair', nil)
setField(c, 'request', nil)
succeed(c)
empty(c, logKey, changesKey, printsKey, attachmentsKey, attachmentsDueKey)
bump(c)
saveAndPublish(c)
await(c, touched, unfinishedKey, intent)
publishMembers(c, typingKey)
return { 'OK' }
