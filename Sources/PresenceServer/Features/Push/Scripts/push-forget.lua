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
local missed = deviceName(platform, token, ' ' .. platform .. ' ')
-- A summary stands for the records of its time. Another message may have been pushed since.
local names = conversation == '~' and redis.call('HKEYS', pushedKey) or { conversation }
for _, name in ipairs(names) do
    local record, left = pushAt(pushedKey, name), ''
    if record.at == at then
        for device in string.gmatch(record.devices, '%S+') do
            if device ~= missed then left = left .. ' ' .. device end
        end
        local time = at
        if left == '' then record.seq, time = 0, '0' end -- mutation: given-up-counts-for-nothing
        setPush(pushedKey, name, record, record.seq, time, left)
    end
end
return { 'OK', int(removed) }
