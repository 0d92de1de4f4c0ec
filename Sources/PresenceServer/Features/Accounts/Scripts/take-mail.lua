-- flags: allow-oom
-- uses: account-lib
-- Takes a mail to send it: the next that waits, or one whose time to be tried again has come. Nobody else is given it until the lease
-- is over. If nothing is heard of it by then, its server has died, and another takes it. One whose token is over is removed.
-- KEYS: mail, mailing
-- ARGV: now, lease in ms, the longest time until a mail is tried again in ms
-- Replies {OK, mail}, {OVER} if one was removed, or {NONE}.
local mail = redis.call('LPOP', KEYS[1])
    or redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', int(now), 'LIMIT', 0, 1)[1]
    -- The clock has gone back.
    or redis.call('ZRANGEBYSCORE', KEYS[2], int(now + tonumber(ARGV[3]) + 1), '+inf', 'LIMIT', 0, 1)[1]
if not mail then return { 'NONE' } end
local limit = mailLimit(mail)
if limit and limit <= now then
    redis.call('ZREM', KEYS[2], mail)
    return { 'OVER' }
end
redis.call('ZADD', KEYS[2], int(now + tonumber(ARGV[2])), mail)
return { 'OK', mail }
