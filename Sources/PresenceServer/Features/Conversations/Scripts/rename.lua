-- uses: typing-lib, attachment-lib, conversation-lib
-- A member renames a group.
-- keys: conversation
-- args: conversation, user, name or ''
-- replies: OK | FORBIDDEN | DIRECT | BANNED(until, reason) | FENCED
local c = conversationAt(conversationKey, conversation)
if not c.members[user] then return { 'FORBIDDEN' } end
if c.raw.kind ~= 'group' then return { 'DIRECT' } end
local ban = banned(c.bans[user])
if ban then return ban end
setField(c, 'name', name ~= '' and name or nil)
if next(c.changed) then
    bump(c)
    saveAndPublish(c) -- mutation: name-is-kept
end
return { 'OK' }
