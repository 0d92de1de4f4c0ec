-- uses: typing-lib, attachment-lib, conversation-lib
-- Members of a group add others, leave, or (its owner) remove others. An intent's first step: the inboxes of those who came
-- and went are told afterwards.
-- KEYS: shards, unfinished, floor, conversation, typing, log, changes, prints, attachments, attachments-due
-- ARGV: now, channel, incarnation, intent, conversation, user, most members, +USER or -USER …
-- Replies {OK}, {OK, number of members} if something has changed, {FENCED}, {FORBIDDEN}, {DIRECT}, {OWNER} or {CROWDED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[4])
if not c.members[ARGV[6]] then return { 'FORBIDDEN' } end
if c.raw.kind ~= 'group' then return { 'DIRECT' } end
local touched, adds = {}, false
for i = 8, #ARGV do
    local user = string.sub(ARGV[i], 2)
    if string.sub(ARGV[i], 1, 1) == '+' then
        if not c.members[user] then
            join(c, user)
            touched[#touched + 1], adds = user, true
        end
    elseif c.members[user] then
        if user ~= ARGV[6] and c.raw.owner ~= ARGV[6] then return { 'OWNER' } end
        leave(c, user)
        touched[#touched + 1] = user
    end
end
if #touched == 0 then return { 'OK' } end
if adds and #namesOf(c) > tonumber(ARGV[7]) then return { 'CROWDED' } end
succeed(c)
empty(c, ARGV[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10])
bump(c, KEYS[3])
save(c, ARGV[2], ARGV[5])
await(c, touched, KEYS[2], ARGV[4])
tellMembers(c, ARGV[2], ARGV[5], KEYS[5], KEYS[3])
return { 'OK', int(c.size) }
