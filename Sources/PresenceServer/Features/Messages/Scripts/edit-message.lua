-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- A sender gives a message another text. The 10 newest earlier texts are kept, fewer if the message gets too long.
-- KEYS: shards, floor, conversation, log, changes, prints, aging, attachments, attachments-due
-- ARGV: now, channel, incarnation, conversation, user, id, text, most messages kept, 1 if one of two blocks the other,
--       the longest message in bytes
-- Replies {OK, number of members, MESSAGE}, {OK, MESSAGE} if nothing has changed, {FENCED}, {FORBIDDEN}, {MISSING}, {OTHERS}, {DELETED}, {EMPTY}, {BLOCKED} or {LONG}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[3])
if not c.members[ARGV[5]] then return { 'FORBIDDEN' } end
local raw, _, index = find(KEYS[4], KEYS[6], ARGV[6])
if not raw then return { 'MISSING' } end
local m = message(raw)
if m.from ~= ARGV[5] then return { 'OTHERS' } end
if m.deletedAt ~= '0' then return { 'DELETED' } end
if ARGV[7] == '""' and m.attachments == '' then return { 'EMPTY' } end
if m.text == ARGV[7] then return { 'OK', raw } end
if ARGV[9] == '1' then return { 'BLOCKED' } end
m.edits[#m.edits + 1] = int(now) .. ' ' .. m.text
while #m.edits > 10 do table.remove(m.edits, 1) end
m.text, m.editedAt, m.editCount = ARGV[7], int(now), m.editCount + 1
if not fit(m, tonumber(ARGV[10])) then return { 'LONG' } end
return { 'OK', int(c.size), rewrite(c, m, index, { log = KEYS[4], changes = KEYS[5], floor = KEYS[2] }, tonumber(ARGV[8]), ARGV[2],
    ARGV[4]) }
