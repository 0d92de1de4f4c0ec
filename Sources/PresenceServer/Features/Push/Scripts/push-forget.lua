-- flags: allow-oom
-- uses: account-lib, push-lib
-- A device does not get a push. If no device gets it, it does not count: the next message of the conversation is pushed. A device that
-- its service does not know any more is removed, unless it was registered since.
-- keys: devices, pushed
-- args: conversation, at the time of the push, platform, token as JSON, gone since that time or '' if the device is known
-- replies: OK(number of removed devices) | FENCED
local removed, fields = 0, gone ~= '' and redis.call('HGETALL', devicesKey) or {}
for i = 1, #fields, 2 do
    local itsPlatform, registeredAt, itsToken = string.match(fields[i + 1], '^(%a+) (%d+) (.+)$')
    if itsPlatform == platform and itsToken == token and tonumber(registeredAt) <= tonumber(gone) then
        removed = removed + redis.call('HDEL', devicesKey, fields[i])
    end
end
local record, missed, left = pushAt(pushedKey, conversation), deviceName(platform, token, ' ' .. platform .. ' '), ''
-- Another message may have been pushed since.
if record.at ~= at then return { 'OK', int(removed) } end
for name in string.gmatch(record.devices, '%S+') do
    if name ~= missed then left = left .. ' ' .. name end
end
if left == '' then record.seq, at = 0, '0' end -- mutation: given-up-counts-for-nothing
putPush(pushedKey, conversation, record, record.seq, at, left)
return { 'OK', int(removed) }
