-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- A message is emptied: by its sender, by a group's owner, or by a backend. Its place stays.
-- KEYS: shards, floor, conversation, log, changes, prints, aging, attachments, attachments-due
-- ARGV: now, channel, incarnation, conversation, user ('' for a backend), id, most messages kept
-- Replies {OK, number of members, MESSAGE}, {OK, MESSAGE} if nothing has changed, {FENCED}, {FORBIDDEN}, {MISSING} or {OTHERS}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[3])
local isBackend = ARGV[5] == ''
if not isBackend and not c.members[ARGV[5]] then return { 'FORBIDDEN' } end
local raw, _, index = find(KEYS[4], KEYS[6], ARGV[6])
if not raw then return { 'MISSING' } end
local m = message(raw)
local isOwner = c.raw.kind == 'group' and c.raw.owner == ARGV[5]
if not isBackend and m.from ~= ARGV[5] and not isOwner then return { 'OTHERS' } end
if m.deletedAt ~= '0' then return { 'OK', raw } end
local seq = tonumber(m.seq)
local priority = priorities(c, function(each) return each == seq end)
put(c, 'priority', #priority > 0 and table.concat(priority, ' ') or nil)
noteDeleted(c, seq)
mention(KEYS[8], KEYS[9], ARGV[4], m.from, m.attachments, -1)
m.text, m.attachments, m.priority, m.edits = '""', '', '', {}
m.deletedAt, m.deletedBy = int(now), isBackend and '-' or ARGV[5]
return { 'OK', int(c.size), rewrite(c, m, index, { log = KEYS[4], changes = KEYS[5], floor = KEYS[2] }, tonumber(ARGV[7]), ARGV[2],
    ARGV[4]) }
