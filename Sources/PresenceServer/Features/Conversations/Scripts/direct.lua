-- uses: typing-lib, attachment-lib, conversation-lib
-- Makes the direct conversation of two users, or finds it. A step of an intent: their inboxes are updated afterwards.
-- keys: unfinished, conversation, typing
-- args: intent, conversation, metadata or '', creator, other
-- replies: OK(fields and values) | TAKEN if a backend has made something else of it | FENCED
local c = conversationAt(conversationKey, conversation)
if c.members[creator] and c.members[other] and c.raw.kind == 'direct' then return answer(c) end
if next(c.members) then return { 'TAKEN' } end
setField(c, 'kind', 'direct')
setField(c, 'pair', creator .. ' ' .. other)
-- The other one's inbox decides (enroll).
setField(c, 'request', other .. ' ?')
setField(c, 'owner', nil)
setField(c, 'createdAt', int(now))
setField(c, 'name', nil)
setField(c, 'metadata', metadata ~= '' and metadata or nil)
join(c, creator)
join(c, other)
bump(c)
saveAndPublish(c)
await(c, { creator, other }, unfinishedKey, intent)
publishMembers(c, typingKey)
return answer(c)
