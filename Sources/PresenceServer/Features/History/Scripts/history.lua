-- flags: no-writes
-- Reads which statuses a user had, and has.
-- KEYS: user, history
-- ARGV: now
-- Replies {OK, now, status or '', since, intervals (see lib.lua) …}, the oldest first.
local held = redis.call('HMGET', KEYS[1], 'status', 'since')
local reply = redis.call('LRANGE', KEYS[2], 0, -1)
table.insert(reply, 1, held[2] or '0')
table.insert(reply, 1, held[1] or '')
table.insert(reply, 1, int(now))
table.insert(reply, 1, 'OK')
return reply
