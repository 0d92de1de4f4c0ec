-- uses: typing-lib, attachment-lib, conversation-lib
-- A conversation hears whether a member lets others see what they have read.
-- KEYS: shards, unfinished, floor, conversation
-- ARGV: now, channel, incarnation, intent, conversation, user, receipts, number
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[4])
local m = c.members[ARGV[6]]
if not m or tonumber(ARGV[8]) <= m.setting then return { 'OK' } end
local changed = m.receipts ~= ARGV[7]
m.receipts, m.setting = ARGV[7], tonumber(ARGV[8])
putMember(c, ARGV[6])
if changed then bump(c, KEYS[3]) end
save(c, ARGV[2], ARGV[5])
return { 'OK' }
