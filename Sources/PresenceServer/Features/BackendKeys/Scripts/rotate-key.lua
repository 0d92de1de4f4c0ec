-- uses: backend-key-lib
-- Gives a key another secret. The one before is accepted for some time more, and the one before that no longer.
-- keys: backendKeys
-- args: wanted id or name, digest of the new secret, overlap in ms
-- replies: OK(id, row) | NONE | EXPIRED | FENCED
local id, held = findKey(backendKeysKey, wanted)
if not held then return { 'NONE' } end
if isKeyOver(held) then return { 'EXPIRED' } end
-- A repetition, after a reply that was lost, must not end the old secret.
if held.digest ~= digest then
    held.old, held.limit = '-', '-'
    if tonumber(overlap) > 0 then held.old, held.limit = held.digest, int(now + tonumber(overlap)) end
    held.digest, held.rotated = digest, int(now)
end
return { 'OK', id, putKey(backendKeysKey, id, held) }
