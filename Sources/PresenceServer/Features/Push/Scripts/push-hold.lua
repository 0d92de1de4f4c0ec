-- flags: allow-oom
-- uses: account-lib, push-lib
-- A push that waits for its service is held instead: meanwhile the user has quiet hours, or is busy.
-- keys: pushed, held, notifications
-- args: user, conversation or #SEQ.TAG of a notification or ~ for a summary, at the time of the push, hold until this time,
--       each(notification of the push as #SEQ.TAG)
-- replies: OK | FENCED
local names = conversation == '~' and redis.call('HKEYS', pushedKey) or { conversation }
for _, name in ipairs(names) do
    local record = pushAt(pushedKey, name)
    -- Another device's push may be held already, or another message pushed since.
    if record.at == at and record.seq > 0 then
        if name == '~' then
            setPush(pushedKey, name, record, 0, '0', '')
        else
            holdPush(heldKey, user, pushedKey, notificationsKey, name, record, record.seq, hold)
        end
    end
end
for name in each() do
    local record = pushAt(pushedKey, name)
    if record.text == '' then
        holdPush(heldKey, user, pushedKey, notificationsKey, name, record, string.match(name, '^#(%d+)'), hold)
    end
end
return { 'OK' }
