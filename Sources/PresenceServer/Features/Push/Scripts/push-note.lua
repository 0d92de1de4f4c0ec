-- flags: allow-oom
-- uses: account-lib, push-lib
-- A user has not read a message. They are pushed to once for each conversation until it is read.
-- keys: push, pushed, sessions
-- args: user, conversation, seq of the message, readTo this message, wait in ms
-- replies: OK(ms until it is decided) | TOLD | FENCED
local told = redis.call('HGET', pushedKey, conversation)
if told and tonumber(string.match(told, '^%d+')) > tonumber(readTo) then return { 'TOLD' } end
local keys = { push = pushKey, pushed = pushedKey, sessions = sessionsKey }
return { 'OK', int(noteDue(keys, user, conversation, tonumber(seq), tonumber(wait))) }
