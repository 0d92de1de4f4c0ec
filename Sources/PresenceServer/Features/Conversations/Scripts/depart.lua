-- uses: typing-lib, attachment-lib, conversation-lib
-- A deleted user is in a conversation no longer; what they wrote stays.
-- KEYS: shards, unfinished, floor, conversation, typing, log, changes, prints, attachments, attachments-due
-- ARGV: now, channel, incarnation, intent, conversation, user
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[4])
if not c.members[ARGV[6]] then return { 'OK' } end
leave(c, ARGV[6])
succeed(c)
empty(c, ARGV[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10])
bump(c, KEYS[3])
save(c, ARGV[2], ARGV[5])
tellMembers(c, ARGV[2], ARGV[5], KEYS[5], KEYS[3])
keepNumbers(c)
return { 'OK' }
