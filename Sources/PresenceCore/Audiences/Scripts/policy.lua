-- flags: no-writes
-- Reads who may see a user.
-- KEYS: user, contacts, blocks
-- ARGV: now, all (1: the contacts too where no setting asks for them)
-- Replies {OK, "VERSION PRESENCE LASTSEEN CONTACTS BLOCKS" or '', number of contacts that follow, contacts …, blocks …}.
local head = redis.call('HGET', KEYS[1], 'visibility')
if not head then return { 'OK', '', '0' } end
local presence, lastSeen = string.match(head, '^%d+ (%a) (%a)')
local contacts = {}
if ARGV[2] == '1' or presence == 'c' or lastSeen == 'c' then contacts = redis.call('SMEMBERS', KEYS[2]) end
local reply = { 'OK', head, int(#contacts) }
for _, id in ipairs(contacts) do reply[#reply + 1] = id end
for _, id in ipairs(redis.call('SMEMBERS', KEYS[3])) do reply[#reply + 1] = id end
return reply
