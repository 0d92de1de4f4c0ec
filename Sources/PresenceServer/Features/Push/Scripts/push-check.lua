-- flags: no-writes
-- uses: account-lib, push-lib
-- Which tokens of a user may still be pushed to: what waits for a push service is older than the last sign-out.
-- KEYS: devices, grants, user
-- ARGV: now, platform, ms after which a session that is not used has ended, tokens as JSON ...
-- Replies 1 or 0 for each.
local current, reply = {}, {}
for _, device in ipairs(devicesOf(KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[3]))) do
    if device.platform == ARGV[2] then current[device.token] = true end
end
for i = 4, #ARGV do reply[#reply + 1] = current[ARGV[i]] and '1' or '0' end
return reply
