-- flags: allow-oom
-- uses: backend-key-lib
-- Ends a key at once.
-- keys: backendKeys
-- args: wanted id or name
-- replies: OK(id) | NONE | FENCED
local id = findKey(backendKeysKey, wanted)
if not id then return { 'NONE' } end
redis.call('HDEL', backendKeysKey, id) -- mutation: revoked-key-ends
return { 'OK', id }
