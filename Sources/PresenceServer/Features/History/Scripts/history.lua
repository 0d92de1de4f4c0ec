-- flags: no-writes
-- Reads a user's past statuses, and the present one.
-- keys: user, history
-- replies: OK(now, status or '', since, intervals of lib.lua and so on: the oldest first)
local held = redis.call('HMGET', userKey, 'status', 'since')
local reply = redis.call('LRANGE', historyKey, 0, -1)
table.insert(reply, 1, held[2] or '0')
table.insert(reply, 1, held[1] or '')
table.insert(reply, 1, int(now))
table.insert(reply, 1, 'OK')
return reply
