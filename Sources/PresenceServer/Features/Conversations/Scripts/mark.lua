-- uses: typing-lib, attachment-lib, conversation-lib
-- What has come to a member's devices, and what they have read, up to these messages. Marks only move forward.
-- KEYS: shards, floor, conversation
-- ARGV: now, channel, incarnation, conversation, user, delivered, read (0: nothing said)
-- Replies {OK}, {FENCED} or {FORBIDDEN}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[3])
local m = c.members[ARGV[5]]
if not m then return { 'FORBIDDEN' } end
local read = math.max(m.read, math.min(tonumber(ARGV[7]), c.last))
local delivered = math.max(m.delivered, math.min(tonumber(ARGV[6]), c.last), read)
local shown = m.shown
if read > m.read and m.receipts == 'e' then shown = read end
if read == m.read and delivered == m.delivered then return { 'OK' } end
local isSeen = shown ~= m.shown or delivered ~= m.delivered
m.read, m.shown, m.delivered = read, shown, delivered
if isSeen then
    putMember(c, ARGV[5])
    bump(c, KEYS[2])
else
    bumpMember(c, ARGV[5], KEYS[2])
end
save(c, ARGV[2], ARGV[4])
return { 'OK' }
