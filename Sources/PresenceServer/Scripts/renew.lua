-- flags: allow-oom
-- Enters or renews a lease: "RENEWED UNTIL", or "reaping RENEWED CLAIM" once it ran out.
-- KEYS: leases
-- ARGV: now, incarnation, lease in ms, enter (1 or 0)
-- Replies {OK, now} or {FENCED}.
local held = redis.call('HGET', KEYS[1], ARGV[2])
if ARGV[4] == '0' and (not held or string.sub(held, 1, 7) == 'reaping') then return { 'FENCED' } end
redis.call('HSET', KEYS[1], ARGV[2], int(now) .. ' ' .. int(now + tonumber(ARGV[3])))
return { 'OK', int(now) }
