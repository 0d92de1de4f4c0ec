-- uses: typing-lib, attachment-lib, conversation-lib
-- Makes the direct conversation of two users, or finds it. An intent's step: their inboxes are told afterwards.
-- KEYS: shards, unfinished, floor, conversation, typing
-- ARGV: now, channel, incarnation, intent, conversation, metadata or '', the two users
-- Replies {OK, …fields} or {FENCED}; {TAKEN} if a backend has made something else of it.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[4])
if c.members[ARGV[7]] and c.members[ARGV[8]] and c.raw.kind == 'direct' then return answer(c) end
if next(c.members) then return { 'TAKEN' } end
put(c, 'kind', 'direct')
put(c, 'pair', ARGV[7] .. ' ' .. ARGV[8])
put(c, 'owner', nil)
put(c, 'createdAt', int(now))
put(c, 'name', nil)
put(c, 'metadata', ARGV[6] ~= '' and ARGV[6] or nil)
for i = 7, 8 do join(c, ARGV[i]) end
bump(c, KEYS[3])
save(c, ARGV[2], ARGV[5])
await(c, { ARGV[7], ARGV[8] }, KEYS[2], ARGV[4])
tellMembers(c, ARGV[2], ARGV[5], KEYS[5], KEYS[3])
return answer(c)
