-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- Deletes the contents of a message, for its sender, a group's owner, or a backend. Its place in the log stays.
-- keys: conversation, log, changes, prints, aging used if messages are kept for a time, attachments, attachmentsDue
-- args: conversation, user or '' for a backend, id, keep so many messages
-- replies: OK(number of members, MESSAGE) | OK(MESSAGE) if nothing has changed | FORBIDDEN | MISSING | OTHERS | FENCED
local c = conversationAt(conversationKey, conversation)
local isBackend = user == ''
if not isBackend and not c.members[user] then return { 'FORBIDDEN' } end
local raw, _, index = find(logKey, printsKey, id)
if not raw then return { 'MISSING' } end
local m = message(raw)
local isOwner = c.raw.kind == 'group' and c.raw.owner == user
if not isBackend and m.from ~= user and not isOwner then return { 'OTHERS' } end
if m.deletedAt ~= '0' then return { 'OK', raw } end
local seq = tonumber(m.seq)
local priority = priorities(c, function(each) return each == seq end) -- mutation: deleted-is-not-urgent
setField(c, 'priority', #priority > 0 and table.concat(priority, ' ') or nil)
updateDeleted(c, seq) -- mutation: deleted-is-read
countReferences(attachmentsKey, attachmentsDueKey, conversation, m.from, m.attachments, -1) -- mutation: deleted-mentions-nothing
m.text, m.attachments, m.priority, m.edits = '""', '', '', {}
m.deletedAt, m.deletedBy = int(now), isBackend and '-' or user
return { 'OK', int(c.size), rewrite(c, m, index, { log = logKey, changes = changesKey }, tonumber(keep)) }
