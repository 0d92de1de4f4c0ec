-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- Rebuilds prints and changes from the messages, if these are complete (`presenced doctor --repair`). For a message
-- that is deleted, whose text was replaced, or that was edited more often than earlier texts are kept, the first text is
-- unknown: the same send again is a conflict. Watchers start again.
-- keys: shards unused, floor, conversation, log, changes, prints
-- args: channel, incarnation unused, conversation
-- replies: OK
local c = conversationAt(conversationKey, conversation)
local count = redis.call('LLEN', logKey)
if not c.exists or count ~= c.last - c.first + 1 then return { 'OK' } end
local prints = {}
for start = 0, count - 1, 50 do
    for _, raw in ipairs(redis.call('LRANGE', logKey, start, start + 49)) do
        local m = message(raw)
        local text = m.edits[1] and string.match(m.edits[1], '^%d+ (.*)$') or m.text
        prints[#prints + 1] = hash(m.id) .. hash(m.from .. '\31' .. text .. '\31' .. m.attachments)
    end
end
redis.call('DEL', changesKey, printsKey)
c.changes = c.changes + 1
setField(c, 'changes', int(c.changes))
if count > 0 then
    redis.call('SET', printsKey, table.concat(prints))
    redis.call('RPUSH', changesKey, int(c.last))
end
bump(c)
saveAndPublish(c)
return { 'OK' }
