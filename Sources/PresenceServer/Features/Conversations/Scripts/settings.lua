-- uses: typing-lib, attachment-lib, conversation-lib
-- Changes a member's own settings of a conversation.
-- keys: conversation
-- args: conversation, user, mute '' to leave or 0 not or -1 until taken back or for how many ms, archive '' to leave or 0 or 1
-- replies: OK | FORBIDDEN | FENCED
local c = conversationAt(conversationKey, conversation)
local m = c.members[user]
if not m then return { 'FORBIDDEN' } end
local muted, archived = m.muted, m.archived
if mute ~= '' then
    muted = tonumber(mute)
    if muted > 0 then muted = now + muted end
end
if archive == '0' then archived = 0 elseif archive == '1' and archived == 0 then archived = now end
if muted == m.muted and archived == m.archived then return { 'OK' } end
-- Before the mute changes: the new version must be above that of its end.
c.seen = ownVersion(c, m)
m.muted, m.archived = muted, archived
bumpMember(c, user)
saveAndPublish(c)
return { 'OK' }
