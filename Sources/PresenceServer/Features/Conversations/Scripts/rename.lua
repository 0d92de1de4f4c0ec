-- uses: typing-lib, attachment-lib, conversation-lib
-- A member renames a group.
-- KEYS: shards, floor, conversation
-- ARGV: now, channel, incarnation, conversation, user, name or ''
-- Replies {OK}, {FENCED}, {FORBIDDEN} or {DIRECT}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[3])
if not c.members[ARGV[5]] then return { 'FORBIDDEN' } end
if c.raw.kind ~= 'group' then return { 'DIRECT' } end
put(c, 'name', ARGV[6] ~= '' and ARGV[6] or nil)
if next(c.changed) then
    bump(c, KEYS[2])
    save(c, ARGV[2], ARGV[4])
end
return { 'OK' }
