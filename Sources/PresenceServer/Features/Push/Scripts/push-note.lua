-- flags: allow-oom
-- uses: account-lib, push-lib
-- A user has not read a message. They are pushed to once for each conversation until it is read.
-- keys: push, pushed, sessions, user
-- args: user, conversation, readTo this message, wait in ms, kind of the conversation in settings or '' if it is decided in any case
-- replies: OK(ms until it is decided) | TOLD | UNWANTED | FENCED
if pushAt(pushedKey, conversation).seq > tonumber(readTo) then return { 'TOLD' } end
if kind ~= '' and isUnwanted(redis.call('HGET', userKey, 'notify'), kind) then return { 'UNWANTED' } end
return { 'OK', schedulePush(pushKey, user .. ' ' .. conversation, sessionsKey, tonumber(wait)) }
