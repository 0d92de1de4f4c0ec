-- uses: account-lib
-- Records the identity that an account wants, because the identity is claimed in another partition: "IDENTITY NUMBER UNTIL". Its
-- number only grows and stands for one identity. An open wish ends, and its claim is released.
-- keys: unfinished, user
-- args: intent, identity, address that the account must have verified or '' for the user's own request, lifetime of the wish, most
--       identities of an account
-- replies: OK(number) | HELD if the account has it | NONE | CHANGED | FULL | BANNED(until, reason) | FENCED
local held = redis.call('HMGET', userKey, 'version', 'email', 'verified', 'disabled', 'identityNumber', 'ban')
if not held[1] then return { 'NONE' } end
if address ~= '' and (held[2] ~= address or not held[3]) or held[4] then return { 'CHANGED' } end
local ban = banned(held[6])
if ban then return ban end
local count = 0
for linked in eachIdentity(userKey) do
    if linked == identity then return { 'HELD' } end
    count = count + 1
end
if count >= tonumber(most) then return { 'FULL' } end
dropIdentityWish(userKey)
local number = int(nextVersion(held[5], floorKey))
redis.call('HSET', userKey, 'identityNumber', number, 'identityWanted',
    table.concat({ identity, number, int(now + tonumber(lifetime)) }, ' '))
redis.call('SADD', unfinishedKey, intent)
return { 'OK', number }
