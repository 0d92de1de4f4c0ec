-- uses: typing-lib, attachment-lib, conversation-lib
-- Makes a group. Its id was chosen so that it lives in its creator's partition. An intent's first step: the inboxes of its
-- members are told afterwards.
-- KEYS: shards, unfinished, floor, conversation, creator, creations
-- ARGV: now, channel, incarnation, intent, conversation, most conversations a user may make, the creation's key or '',
--       creator, name or '', metadata or '', participants …
-- Replies {OK, …fields}, {FENCED}, {TOOMANY} or {CONFLICT}; {MADE, conversation} if the creator made one with this key before.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local key = ARGV[7]
if key ~= '' then
    local made = redis.call('HGET', KEYS[6], key)
    if made then return { 'MADE', made } end
end
local c = conversationAt(KEYS[4])
if c.exists then return { 'CONFLICT' } end
if tonumber(redis.call('HGET', KEYS[5], 'conversations') or '0') >= tonumber(ARGV[6]) then return { 'TOOMANY' } end
redis.call('HINCRBY', KEYS[5], 'conversations', 1)
-- Never longer than what a user may make, so it need not expire.
if key ~= '' then redis.call('HSET', KEYS[6], key, ARGV[5]) end
put(c, 'kind', 'group')
put(c, 'createdAt', int(now))
put(c, 'owner', ARGV[8])
put(c, 'creator', ARGV[8])
if ARGV[9] ~= '' then put(c, 'name', ARGV[9]) end
if ARGV[10] ~= '' then put(c, 'metadata', ARGV[10]) end
for i = 11, #ARGV do join(c, ARGV[i]) end
bump(c, KEYS[3])
save(c, ARGV[2], ARGV[5])
await(c, membersOf(c), KEYS[2], ARGV[4])
return answer(c)
