-- A user's inbox hears that they joined or left a conversation: "in VERSION" or "out VERSION".
-- KEYS: shards, unfinished, inbox, user, pushed
-- ARGV: now, channel, incarnation, intent, conversation, in or out, version
-- Replies {OK, the user's setting of receipts, "e NUMBER" or "n NUMBER", or ''} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local held = string.match(redis.call('HGET', KEYS[3], ARGV[5]) or '', '^%a+ (%d+)')
if tonumber(ARGV[7]) > tonumber(held or '0') then
    redis.call('HSET', KEYS[3], ARGV[5], ARGV[6] .. ' ' .. ARGV[7])
    -- What they were pushed for in it.
    if ARGV[6] == 'out' then redis.call('HDEL', KEYS[5], ARGV[5]) end
end
return { 'OK', redis.call('HGET', KEYS[4], 'receipts') or '' }
