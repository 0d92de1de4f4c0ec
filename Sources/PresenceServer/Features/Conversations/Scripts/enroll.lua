-- A user's inbox hears that they joined or left a conversation: "in VERSION" or "out VERSION". One whose account is deleted has
-- no inbox any more: the conversation is told so, and takes them out (settle.lua). What the inbox had when the account was
-- deleted is left by Departing.
-- KEYS: shards, unfinished, inbox, user, pushed
-- ARGV: now, channel, incarnation, intent, conversation, in or out, version
-- Replies {OK, the user's setting of receipts, "e NUMBER" or "n NUMBER", or ''}, {OK, -} if their account is deleted, or
-- {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local user = redis.call('HMGET', KEYS[4], 'receipts', 'deletedAt')
if user[2] then return { 'OK', '-' } end
local held = string.match(redis.call('HGET', KEYS[3], ARGV[5]) or '', '^%a+ (%d+)')
if tonumber(ARGV[7]) > tonumber(held or '0') then
    redis.call('HSET', KEYS[3], ARGV[5], ARGV[6] .. ' ' .. ARGV[7])
    -- What they were pushed for in it.
    if ARGV[6] == 'out' then redis.call('HDEL', KEYS[5], ARGV[5]) end
end
return { 'OK', user[1] or '' }
