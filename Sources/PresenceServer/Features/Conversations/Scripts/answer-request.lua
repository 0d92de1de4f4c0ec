-- uses: typing-lib, attachment-lib, conversation-lib
-- A member answers the conversation that a stranger began with them. A refused one is archived, and stays a request.
-- keys: conversation
-- args: conversation, user, isAccepted
-- replies: OK | NONE if it is no request to them | FENCED
local c = conversationAt(conversationKey, conversation)
local m = c.members[user]
if not m or not isAsked(c, user) then return { 'NONE' } end
if isAccepted == '1' then
    c.seen = ownVersion(c, m)
    acceptRequest(c, user)
    m.archived = 0
    setMember(c, user)
    bump(c)
    saveAndPublish(c)
elseif m.archived == 0 then
    c.seen = ownVersion(c, m)
    m.archived = now
    bumpMember(c, user)
    saveAndPublish(c)
end
return { 'OK' }
