-- uses: typing-lib, attachment-lib, conversation-lib
-- Makes a group. Its id was chosen to lie in its creator's partition. First step of an intent: the members' inboxes are
-- updated afterwards.
-- keys: unfinished, conversation, creator, creations
-- args: intent, conversation, most conversations a user may make, key of the creation or '', creator, name or '',
--       metadata or '', each(user)
-- replies: OK(fields and values) | TOOMANY | CONFLICT | MADE(conversation) if the creator made one with this key before | FENCED
if key ~= '' then
    local made = redis.call('HGET', creationsKey, key)
    if made then return { 'MADE', made } end
end
local c = conversationAt(conversationKey, conversation)
if c.exists then return { 'CONFLICT' } end
if tonumber(redis.call('HGET', creatorKey, 'conversations') or '0') >= tonumber(most) then return { 'TOOMANY' } end
redis.call('HINCRBY', creatorKey, 'conversations', 1)
-- No longer than the number of conversations that a user may make, so it need not expire.
if key ~= '' then redis.call('HSET', creationsKey, key, conversation) end
setField(c, 'kind', 'group')
setField(c, 'createdAt', int(now))
setField(c, 'owner', creator)
setField(c, 'creator', creator)
if name ~= '' then setField(c, 'name', name) end
if metadata ~= '' then setField(c, 'metadata', metadata) end
for user in each() do join(c, user) end
bump(c)
saveAndPublish(c)
await(c, membersOf(c), unfinishedKey, intent)
return answer(c)
