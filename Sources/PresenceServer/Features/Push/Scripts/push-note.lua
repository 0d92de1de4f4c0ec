-- flags: allow-oom
-- uses: account-lib, push-lib
-- A user has not read a message. They are pushed to once for each conversation until it is read.
-- keys: push, pushed, sessions
-- args: user, conversation, readTo this message, wait in ms
-- replies: OK(ms until it is decided) | TOLD | FENCED
if pushAt(pushedKey, conversation).seq > tonumber(readTo) then return { 'TOLD' } end
return { 'OK', noteDue(pushKey, user .. ' ' .. conversation, sessionsKey, tonumber(wait)) }
