-- Changes a user's settings of who may see them, or one of their lists.
-- KEYS: shards, floor, user, the list (contacts or blocks; of a change of settings: any)
-- ARGV: now, channel, incarnation, user, presence, lastSeen (e, c, n; '' to leave), list (contacts, blocks, - for none),
--       most in the list, then +ID to add, -ID to remove, nobody twice
-- The hash has "VERSION PRESENCE LASTSEEN CONTACTS BLOCKS", and RECEIPTS (e, n) once that was set. Only what differs counts;
-- then "V user version at PRESENCE LASTSEEN CONTACTS BLOCKS LIST +ID -ID … =RECEIPTS" is published. It goes to every shard,
-- and few of them care: of more than 10 ids it has "*" instead, and a shard that needs the list reads it.
-- Replies {OK, version of the change or 0, presence, lastSeen, contacts, blocks, receipts or ''}, {FENCED} or {FULL}, or the
-- error DAMAGED if the hash has something else.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local version, presence, lastSeen, contacts, blocks, receipts = string.match(
    redis.call('HGET', KEYS[3], 'visibility') or '0 e e 0 0', '^(%d+) ([ecn]) ([ecn]) (%d+) (%d+) ?([en]?)$')
if not version then return redis.error_reply('DAMAGED the visibility of a user cannot be read') end
local changed = false
if ARGV[5] ~= '' and ARGV[5] ~= presence then presence, changed = ARGV[5], true end
if ARGV[6] ~= '' and ARGV[6] ~= lastSeen then lastSeen, changed = ARGV[6], true end

local list, added, removed, words = ARGV[7], {}, {}, {}
for i = 9, #ARGV do
    local isAdded, id = string.sub(ARGV[i], 1, 1) == '+', string.sub(ARGV[i], 2)
    if isAdded == (redis.call('SISMEMBER', KEYS[4], id) == 0) then
        local ids = isAdded and added or removed
        ids[#ids + 1] = id
        words[#words + 1] = ARGV[i]
    end
end
if #words > 0 then
    local count = redis.call('SCARD', KEYS[4]) + #added - #removed
    if #added > 0 and count > tonumber(ARGV[8]) then return { 'FULL' } end
    for _, id in ipairs(added) do redis.call('SADD', KEYS[4], id) end
    for _, id in ipairs(removed) do redis.call('SREM', KEYS[4], id) end
    changed = true
    if list == 'contacts' then contacts = int(count) else blocks = int(count) end
end
if not changed then return { 'OK', '0', presence, lastSeen, contacts, blocks, receipts } end

version = int(nextVersion(version, KEYS[2]))
local state = table.concat({ presence, lastSeen, contacts, blocks }, ' ')
redis.call('HSET', KEYS[3], 'visibility', version .. ' ' .. state .. (receipts ~= '' and ' ' .. receipts or ''))
redis.call('PUBLISH', ARGV[2],
    table.concat({ 'V', ARGV[4], version, int(now), state, list, #words > 10 and '*' or table.concat(words, ' ') }, ' ')
    .. (receipts ~= '' and ' =' .. receipts or ''))
return { 'OK', version, presence, lastSeen, contacts, blocks, receipts }
