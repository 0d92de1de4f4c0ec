-- uses: typing-lib, attachment-lib, conversation-lib
-- A member's own settings of a conversation.
-- KEYS: shards, floor, conversation
-- ARGV: now, channel, incarnation, conversation, user, muted ('' to leave, 0 not, -1 until taken back, or for how many ms),
--       archived ('' to leave, 0 or 1)
-- Replies {OK}, {FENCED} or {FORBIDDEN}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[3])
local m = c.members[ARGV[5]]
if not m then return { 'FORBIDDEN' } end
local muted, archived = m.muted, m.archived
if ARGV[6] ~= '' then
    muted = tonumber(ARGV[6])
    if muted > 0 then muted = now + muted end
end
if ARGV[7] == '0' then archived = 0 elseif ARGV[7] == '1' and archived == 0 then archived = now end
if muted == m.muted and archived == m.archived then return { 'OK' } end
-- Before the mute is another: what its end has told.
c.seen = ownVersion(c, m)
m.muted, m.archived = muted, archived
bumpMember(c, ARGV[5], KEYS[2])
save(c, ARGV[2], ARGV[4])
return { 'OK' }
