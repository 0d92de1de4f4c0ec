-- Changes a user's visibility settings, or one of the lists of contacts and blocks. The hash field is
-- "VERSION PRESENCE LASTSEEN CONTACTS BLOCKS", followed by RECEIPTS (e, n) once that was set; FINDABLE (e, c, n) is a
-- field of its own. A change that has an effect is published as
-- "V user version at PRESENCE LASTSEEN CONTACTS BLOCKS LIST +ID -ID … =RECEIPTS FINDABLE", the last two without a space
-- between them, RECEIPTS being - if it is not set. Every shard receives it and few need it, so more than 10 ids are
-- replaced by "*", and a shard that needs the list reads it. A malformed field is the error DAMAGED.
-- keys: user, list of contacts or blocks; of a change of settings any
-- args: user, newPresence e c n or '' to leave, newLastSeen likewise, newFindable likewise,
--       list contacts or blocks or -, most in the list, each(change +ID or -ID; nobody twice)
-- replies: OK(version of the change or 0, presence, lastSeen, contacts, blocks, receipts or '',
--          findable or '') | FULL | FENCED
local held = redis.call('HMGET', userKey, 'visibility', 'findable')
local version, presence, lastSeen, contacts, blocks, receipts = string.match(
    held[1] or '0 e e 0 0', '^(%d+) ([ecn]) ([ecn]) (%d+) (%d+) ?([en]?)$')
if not version then return redis.error_reply('DAMAGED the visibility of a user cannot be read') end
local findable, changed = held[2] or '', false
if newPresence ~= '' and newPresence ~= presence then presence, changed = newPresence, true end
if newLastSeen ~= '' and newLastSeen ~= lastSeen then lastSeen, changed = newLastSeen, true end
if newFindable ~= '' and newFindable ~= findable then
    redis.call('HSET', userKey, 'findable', newFindable)
    findable, changed = newFindable, true
end

local added, removed, words = {}, {}, {}
for change in each() do
    local isAdded, id = string.sub(change, 1, 1) == '+', string.sub(change, 2)
    if isAdded == (redis.call('SISMEMBER', listKey, id) == 0) then
        local ids = isAdded and added or removed
        ids[#ids + 1] = id
        words[#words + 1] = change
    end
end
if #words > 0 then
    local count = redis.call('SCARD', listKey) + #added - #removed
    if #added > 0 and count > tonumber(most) then return { 'FULL' } end
    for _, id in ipairs(added) do redis.call('SADD', listKey, id) end
    for _, id in ipairs(removed) do redis.call('SREM', listKey, id) end
    changed = true
    if list == 'contacts' then contacts = int(count) else blocks = int(count) end
end
if not changed then return { 'OK', '0', presence, lastSeen, contacts, blocks, receipts, findable } end

version = int(nextVersion(version, floorKey))
local state = table.concat({ presence, lastSeen, contacts, blocks }, ' ')
redis.call('HSET', userKey, 'visibility', version .. ' ' .. state .. (receipts ~= '' and ' ' .. receipts or ''))
redis.call('PUBLISH', channel,
    table.concat({ 'V', user, version, int(now), state, list, #words > 10 and '*' or table.concat(words, ' ') }, ' ')
    .. (receipts .. findable ~= '' and ' =' .. (receipts ~= '' and receipts or '-') .. findable or ''))
return { 'OK', version, presence, lastSeen, contacts, blocks, receipts, findable }
