-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- Deletes the contents of some messages of a deleted user. Their places in the log stay.
-- keys: conversation, log, changes, prints, aging unused, attachments, attachmentsDue
-- args: conversation, user, after the message with this number, most messages to be read, mostErased, keep so many messages
-- replies: OK(number after which to continue or 0 at the end, number of erased messages) | FENCED
local c = conversationAt(conversationKey, conversation)
if not c.exists then return { 'OK', '0', '0' } end
if not isWhole(c, logKey) then return redis.error_reply(notWhole) end
local seq, erased = math.max(tonumber(after), c.first - 1), 0
local raws = redis.call('LRANGE', logKey, int(seq + 1 - c.first), int(seq - c.first + tonumber(most)))
for _, raw in ipairs(raws) do
    if erased == tonumber(mostErased) then break end
    seq = seq + 1
    local m = string.find(raw, '^%S+ %d+ %d+ %d+ (%S+)') and message(raw)
    if m and m.from == user and m.deletedAt == '0' then
        erased = erased + 1
        local priority = priorities(c, function(each) return each == seq end)
        setField(c, 'priority', #priority > 0 and table.concat(priority, ' ') or nil)
        updateDeleted(c, seq)
        countReferences(attachmentsKey, attachmentsDueKey, conversation, m.from, m.attachments, -1)
        m.text, m.attachments, m.priority, m.edits = '""', '', '', {}
        m.deletedAt, m.deletedBy = int(now), user
        rewrite(c, m, seq - c.first, { log = logKey, changes = changesKey }, tonumber(keep))
    end
end
return { 'OK', seq < c.last and int(seq) or '0', int(erased) }
