-- flags: no-writes
-- uses: backend-key-lib
-- Whether a key is good at this moment, by its secret's digest.
-- keys: backendKeys
-- args: id, digest
-- replies: OK(scopes) | UNKNOWN | EXPIRED
local held = keyOf(redis.call('HGET', backendKeysKey, id))
if not held then return { 'UNKNOWN' } end
local isOld = held.old == digest and tonumber(held.limit) > now -- mutation: old-secret-ends
if held.digest ~= digest and not isOld then return { 'UNKNOWN' } end
if isKeyOver(held) then return { 'EXPIRED' } end -- mutation: key-expires
return { 'OK', held.scopes }
