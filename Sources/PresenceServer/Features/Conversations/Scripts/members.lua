-- uses: typing-lib, attachment-lib, conversation-lib
-- Members of a group add others, leave, or (the owner) remove others. First step of an intent: the inboxes are updated
-- afterwards.
-- keys: unfinished, conversation, typing, log, changes, prints, attachments, attachmentsDue
-- args: intent, conversation, asker, most members, each(change + or -, user)
-- replies: OK | OK(number of members) if something has changed | FORBIDDEN | DIRECT | OWNER | CROWDED
--       | BANNED(until, reason) if a banned member adds others | FENCED
local c = conversationAt(conversationKey, conversation)
if not c.members[asker] then return { 'FORBIDDEN' } end
if c.raw.kind ~= 'group' then return { 'DIRECT' } end
local touched, adds = {}, false
for change, user in each() do
    if change == '+' then
        if not c.members[user] then
            join(c, user)
            touched[#touched + 1], adds = user, true
        end
    elseif c.members[user] then
        if user ~= asker and c.raw.owner ~= asker then return { 'OWNER' } end
        leave(c, user)
        touched[#touched + 1] = user
    end
end
if #touched == 0 then return { 'OK' } end
local ban = adds and banned(c.bans[asker])
if ban then return ban end
if adds and #namesOf(c) > tonumber(most) then return { 'CROWDED' } end
succeed(c)
empty(c, logKey, changesKey, printsKey, attachmentsKey, attachmentsDueKey)
bump(c)
saveAndPublish(c)
await(c, touched, unfinishedKey, intent)
publishMembers(c, typingKey)
return { 'OK', int(c.size) }
