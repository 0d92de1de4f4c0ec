-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- A sender changes the text of a message. The 10 newest earlier texts are kept, fewer if the message gets too long.
-- keys: conversation, log, changes, prints, aging used if messages are kept for a time, attachments, attachmentsDue,
--       verdict used if ask is not 0
-- args: conversation, user, id, text, keep so many messages, isBlocked if one of two blocks the other, longest message in bytes,
--       ask for so many ms if it needs a verdict or -1 to look for it or 0, replacement of the text or ''
-- replies: OK(number of members, MESSAGE) | OK(MESSAGE) if nothing has changed | FORBIDDEN | MISSING | OTHERS | DELETED | EMPTY
--       | BLOCKED | BANNED(until, reason) | LONG | ASK | VERDICT(verdict) | FENCED
local c = conversationAt(conversationKey, conversation)
if not c.members[user] then return { 'FORBIDDEN' } end
local raw, _, index = find(logKey, printsKey, id)
if not raw then return { 'MISSING' } end
local m = message(raw)
if m.from ~= user then return { 'OTHERS' } end
if m.deletedAt ~= '0' then return { 'DELETED' } end
if text == '""' and m.attachments == '' then return { 'EMPTY' } end
if m.text == (replacement ~= '' and replacement or text) then return { 'OK', raw } end
if isBlocked == '1' then return { 'BLOCKED' } end
local ban = banned(c.bans[user])
if ban then return ban end -- mutation: banned-edits
if ask ~= '0' then return undecided(verdictKey, ask) end
if replacement ~= '' then text = replacement end
m.edits[#m.edits + 1] = int(now) .. ' ' .. m.text
while #m.edits > 10 do table.remove(m.edits, 1) end
m.text, m.editedAt, m.editCount = text, int(now), m.editCount + 1
if not fit(m, tonumber(longest)) then return { 'LONG' } end
return { 'OK', int(c.size), rewrite(c, m, index, { log = logKey, changes = changesKey }, tonumber(keep)) }
