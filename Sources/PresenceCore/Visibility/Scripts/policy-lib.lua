-- A user's visibility: the hash field "VERSION PRESENCE LASTSEEN CONTACTS BLOCKS", followed by RECEIPTS (e, n) once that
-- was set. The field `findable` has FINDABLE (e, c, n; - if it was never set), followed by FROM (e, c) once that was set:
-- who may begin conversations.

-- The visibility as stored; nil if the field is malformed.
local function policyAt(userKey)
    local held = redis.call('HMGET', userKey, 'visibility', 'findable')
    local version, presence, lastSeen, contacts, blocks, receipts = string.match(
        held[1] or '0 e e 0 0', '^(%d+) ([ecn]) ([ecn]) (%d+) (%d+) ?([en]?)$')
    if not version then return nil end
    return { version = version, presence = presence, lastSeen = lastSeen, contacts = contacts, blocks = blocks,
        receipts = receipts, findable = held[2] or '' }
end

-- Stores a changed visibility with a new version, and publishes it as
-- "V user version at PRESENCE LASTSEEN CONTACTS BLOCKS LIST +ID -ID … =RECEIPTS FINDABLE", the last two without a space
-- between them, RECEIPTS being - if it is not set. Every shard receives it and few need it, so more than 10 ids are
-- replaced by "*", and a shard that needs the list reads it.
local function savePolicy(policy, user, userKey, list, words)
    policy.version = int(nextVersion(policy.version, floorKey))
    local state = table.concat({ policy.presence, policy.lastSeen, policy.contacts, policy.blocks }, ' ')
    local receipts = policy.receipts
    redis.call('HSET', userKey, 'visibility',
        policy.version .. ' ' .. state .. (receipts ~= '' and ' ' .. receipts or ''))
    redis.call('PUBLISH', channel,
        table.concat({ 'V', user, policy.version, int(now), state, list, #words > 10 and '*' or table.concat(words, ' ') },
            ' ') .. (receipts .. policy.findable ~= ''
            and ' =' .. (receipts ~= '' and receipts or '-') .. policy.findable or ''))
end

-- Adds one contact, if the user does not have it.
local function addContact(policy, user, userKey, contactsKey, other)
    if redis.call('SADD', contactsKey, other) == 0 then return end
    policy.contacts = int(redis.call('SCARD', contactsKey))
    savePolicy(policy, user, userKey, 'contacts', { '+' .. other })
end
