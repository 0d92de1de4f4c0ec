-- flags: allow-oom
-- How far an owner's wish has come.
-- KEYS: shards, unfinished, record
-- ARGV: now, channel, incarnation, intent
-- Replies {OK, wish, wanted, claim}, each '' if there is none, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local values = redis.call('HMGET', KEYS[3], 'wish', 'wanted', 'claim')
if not values[1] then redis.call('SREM', KEYS[2], ARGV[4]) end
return { 'OK', values[1] or '', values[2] or '', values[3] or '' }
