-- uses: typing-lib, attachment-lib, conversation-lib
-- Sets for one conversation whether others see what a member has read.
-- keys: conversation
-- args: conversation, user, receipts e or n, number of that setting
-- replies: OK | FENCED
local c = conversationAt(conversationKey, conversation)
local m = c.members[user]
if not m or tonumber(number) <= m.setting then return { 'OK' } end
local changed = m.receipts ~= receipts
c.seen = ownVersion(c, m)
m.receipts, m.setting = receipts, tonumber(number)
setMember(c, user)
-- A stranger whom the user has not answered learns nothing.
if changed and isAsked(c, user) then
    bumpMember(c, user)
elseif changed then
    bump(c)
end
saveAndPublish(c)
return { 'OK' }
