-- uses: typing-lib, attachment-lib, conversation-lib
-- Removes a deleted user from a conversation. Their messages stay.
-- keys: unfinished, conversation, typing, log, changes, prints, attachments, attachmentsDue
-- args: intent, conversation, user
-- replies: OK | FENCED
local c = conversationAt(conversationKey, conversation)
if not c.members[user] then return { 'OK' } end
leave(c, user)
succeed(c)
empty(c, logKey, changesKey, printsKey, attachmentsKey, attachmentsDueKey)
bump(c)
saveAndPublish(c)
publishMembers(c, typingKey)
keepNumbers(c)
return { 'OK' }
