-- uses: typing-lib, attachment-lib, conversation-lib, message-lib
-- flags: no-writes
-- Reads the reported message, if its reporter may see it. There is one answer for everything else.
-- keys: conversation, log, prints
-- args: reporter, user who is reported or '', messageID or ''
-- replies: OK(MESSAGE or '') | NOWHERE
local held = redis.call('HMGET', conversationKey, 'm:' .. reporter, 'm:' .. user)
if not held[1] then return { 'NOWHERE' } end
if messageID == '' then
    if user ~= '' and not held[2] then return { 'NOWHERE' } end
    return { 'OK', '' }
end
local raw = find(logKey, printsKey, messageID)
if not raw or user ~= '' and message(raw).from ~= user then return { 'NOWHERE' } end
return { 'OK', raw }
