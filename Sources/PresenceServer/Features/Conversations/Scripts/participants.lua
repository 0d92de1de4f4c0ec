-- uses: typing-lib, attachment-lib, conversation-lib
-- A backend sets who is in a conversation; nobody: it ends. What was direct becomes a group. An intent's first step: the
-- inboxes of those who came and went are told afterwards.
-- KEYS: shards, unfinished, floor, conversation, typing, log, changes, prints, attachments, attachments-due
-- ARGV: now, channel, incarnation, intent, conversation, participants …
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[4])
if not c.exists and #ARGV < 6 then return { 'OK' } end
local staying, touched = {}, {}
for i = 6, #ARGV do staying[ARGV[i]] = true end
for _, user in ipairs(membersOf(c)) do
    if not staying[user] then
        leave(c, user)
        touched[#touched + 1] = user
    end
end
for i = 6, #ARGV do
    if not c.members[ARGV[i]] then
        join(c, ARGV[i])
        touched[#touched + 1] = ARGV[i]
    end
end
if #touched == 0 then return { 'OK' } end
if not c.raw.createdAt then put(c, 'createdAt', int(now)) end
put(c, 'kind', 'group')
put(c, 'pair', nil)
succeed(c)
empty(c, ARGV[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10])
bump(c, KEYS[3])
save(c, ARGV[2], ARGV[5])
await(c, touched, KEYS[2], ARGV[4])
tellMembers(c, ARGV[2], ARGV[5], KEYS[5], KEYS[3])
return { 'OK' }
