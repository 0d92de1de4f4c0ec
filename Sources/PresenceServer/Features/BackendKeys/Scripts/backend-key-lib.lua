-- The keys of backends: one hash, from a key's id to "NAME SCOPES CREATED EXPIRES DIGEST ROTATED OLD UNTIL". SCOPES are words with
-- commas. CREATED, EXPIRES, ROTATED and UNTIL are times, DIGEST and OLD the digests (SHA-256, hex) of the secret and of the one
-- before it, which is accepted until UNTIL. - stands for none.

-- Parses a row; nil for a text that no server has written.
local function keyOf(row)
    local name, scopes, created, expires, digest, rotated, old, limit = string.match(row or '',
        '^(%S+) (%S+) (%d+) (%S+) (%x+) (%S+) (%S+) (%S+)$')
    if not name then return nil end
    return { name = name, scopes = scopes, created = created, expires = expires, digest = digest, rotated = rotated, old = old,
        limit = limit }
end

local function isKeyOver(held)
    return held.expires ~= '-' and tonumber(held.expires) <= now
end

-- Stores a key and returns its row.
local function putKey(key, id, held)
    local row = table.concat({ held.name, held.scopes, held.created, held.expires, held.digest, held.rotated, held.old, held.limit },
        ' ')
    redis.call('HSET', key, id, row)
    return row
end

-- Finds a key by its id or name: returns its id and itself, or nil.
local function findKey(key, wanted)
    local rows = redis.call('HGETALL', key)
    for i = 1, #rows, 2 do
        local held = keyOf(rows[i + 1])
        if rows[i] == wanted or held and held.name == wanted then return rows[i], held end
    end
end
