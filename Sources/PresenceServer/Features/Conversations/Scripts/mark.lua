-- uses: typing-lib, attachment-lib, conversation-lib
-- What has come to members' devices, and what they have read, up to these messages. Marks only move forward. Those of several
-- members are one change of the conversation, which is told once.
-- KEYS: shards, floor, conversation
-- ARGV: now, channel, incarnation, conversation, then of each user, who is there once: user, delivered, read (0: nothing said)
-- Replies {FENCED}, or {OK, WORD…, number of members}: of each user OK or FORBIDDEN.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[3])
local reply, isSeen, alone = { 'OK' }, false, {}
for i = 5, #ARGV, 3 do
    local m = c.members[ARGV[i]]
    reply[#reply + 1] = m and 'OK' or 'FORBIDDEN'
    if m then
        local read = math.max(m.read, math.min(tonumber(ARGV[i + 2]), c.last))
        local delivered = math.max(m.delivered, math.min(tonumber(ARGV[i + 1]), c.last), read)
        local shown = m.shown
        if read > m.read and m.receipts == 'e' then shown = read end
        if shown ~= m.shown or delivered ~= m.delivered then
            m.read, m.shown, m.delivered = read, shown, delivered
            putMember(c, ARGV[i])
            isSeen = true
        elseif read ~= m.read then
            -- Past what each of them has seen: so one version, that of the event, is theirs.
            c.seen = math.max(c.seen or 0, ownVersion(m))
            m.read = read
            alone[#alone + 1] = ARGV[i]
        end
    end
end
for _, user in ipairs(alone) do bumpMember(c, user, KEYS[2]) end
if isSeen then bump(c, KEYS[2]) end
if c.news then save(c, ARGV[2], ARGV[4]) end
reply[#reply + 1] = int(c.size)
return reply
