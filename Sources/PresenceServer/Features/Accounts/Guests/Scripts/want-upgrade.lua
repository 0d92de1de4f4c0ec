-- uses: account-lib
-- Records the address and the password that an account without an address gets, as an intent like that of a change of address. Each request has a
-- number of its own, since each has a password of its own; an open one before it ends.
-- keys: unfinished, user
-- args: intent, address, password (hex) or - for none, lifetime of the wish, isProved if the address is proved
-- replies: OK(number) | NONE | CHANGED if there is an address by now | FENCED
local held = redis.call('HMGET', userKey, 'version', 'email', 'emailWanted', 'emailWish')
if not held[1] then return { 'NONE' } end
if held[2] then return { 'CHANGED' } end -- mutation: upgrade-needs-no-address
local wanted = string.match(held[3] or '', '^(%S+) %d+$')
if wanted then giveUp(userKey, held[4], wanted) end
local number = int(nextVersion(held[4], floorKey)) -- mutation: upgrade-has-a-number
redis.call('HSET', userKey, 'emailWish', number, 'emailWanted', address .. ' ' .. int(now + tonumber(lifetime)), 'upgrade',
    address .. ' ' .. password .. (isProved == '1' and ' 1' or ' 0'))
redis.call('SADD', unfinishedKey, intent)
return { 'OK', number }
