-- flags: no-writes
-- uses: account-lib, push-lib
-- Whether a user's token may still be pushed to: a waiting push may be older than the last sign-out.
-- keys: devices, grants, user
-- args: platform, idle ms after which an unused session has ended, token as JSON
-- replies: 1 | 0
for _, device in ipairs(devicesOf(devicesKey, grantsKey, userKey, tonumber(idle))) do
    if device.platform == platform and device.token == token then return { '1' } end
end
return { '0' }
