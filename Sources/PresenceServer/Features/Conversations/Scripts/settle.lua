-- uses: typing-lib, attachment-lib, conversation-lib
-- Inboxes have been told, and said who shows what they have read. Those who joined hear of the conversation now.
-- KEYS: shards, unfinished, floor, conversation
-- ARGV: now, channel, incarnation, intent, conversation, then USER, version, receipts of each
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local c = conversationAt(KEYS[4])
local changed, told = false, {}
for i = 6, #ARGV, 3 do
    local user, version, receipts, setting = ARGV[i], ARGV[i + 1], string.match(ARGV[i + 2], '^(%a) (%d+)$')
    if c.pending[user] == version then
        redis.call('HDEL', KEYS[4], 'j:' .. user)
        c.pending[user] = nil
    end
    local m = c.members[user]
    if m then told[user] = true end
    if m and receipts and tonumber(setting) > m.setting then
        changed = changed or m.receipts ~= receipts
        m.receipts, m.setting = receipts, tonumber(setting)
        putMember(c, user)
    end
end
if changed then
    bump(c, KEYS[3])
elseif next(told) then
    c.news, c.only = c.version, told
end
if next(c.changed) or c.news then save(c, ARGV[2], ARGV[5]) end
if not next(c.pending) then
    redis.call('SREM', KEYS[2], ARGV[4])
    keepNumbers(c)
end
return { 'OK' }
