-- uses: backend-key-lib
-- Makes a key.
-- keys: backendKeys
-- args: id, name, scopes, lifetime in ms or '', digest of its secret, most keys
-- replies: OK(row) | TAKEN if another key has the name | FULL | FENCED
if redis.call('HLEN', backendKeysKey) >= tonumber(most) then return { 'FULL' } end
if findKey(backendKeysKey, name) then return { 'TAKEN' } end
local expires = lifetime == '' and '-' or int(now + tonumber(lifetime))
return { 'OK', putKey(backendKeysKey, id, { name = name, scopes = scopes, created = int(now), expires = expires, digest = digest,
    rotated = '-', old = '-', limit = '-' }) }
