-- The devices on which a user has signed in: the field `knownDevices` of the user's hash has the digest of each, the latest last.
local mostKnown = 30

-- Notes the device of a sign-in. If it is new to the account, its owner is notified. There is no mail for the first device: its owner
-- has just signed up, or is not known to this version yet.
local function noteDevice(key, mailKey, device, notice)
    local known = redis.call('HGET', key, 'knownDevices')
    local devices, isKnown = {}, false
    for each in string.gmatch(known or '', '%x+') do
        if each == device then isKnown = true else devices[#devices + 1] = each end
    end
    devices[#devices + 1] = device
    if #devices > mostKnown then table.remove(devices, 1) end
    redis.call('HSET', key, 'knownDevices', table.concat(devices, ' '))
    if isKnown or not known then return end -- mutation: known-device
    notifyOwner(key, mailKey, 'device', notice)
end
