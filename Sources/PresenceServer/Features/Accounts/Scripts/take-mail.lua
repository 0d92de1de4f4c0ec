-- flags: allow-oom
-- Takes a mail to send it: the next that waits, or one whose time to be tried again has come. Nobody else is given it until the lease
-- is over. If nothing is heard of it by then, its server has died, and another takes it.
-- KEYS: mail, mailing
-- ARGV: now, lease in ms, the longest time until a mail is tried again in ms
-- Replies {OK, mail} or {NONE}.
local mail = redis.call('LPOP', KEYS[1])
    or redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', int(now), 'LIMIT', 0, 1)[1]
    -- The clock has gone back.
    or redis.call('ZRANGEBYSCORE', KEYS[2], int(now + tonumber(ARGV[3]) + 1), '+inf', 'LIMIT', 0, 1)[1]
if not mail then return { 'NONE' } end
redis.call('ZADD', KEYS[2], int(now + tonumber(ARGV[2])), mail)
return { 'OK', mail }
