-- flags: allow-oom
-- uses: account-lib
-- Takes a mail to send it: the next that waits, or one whose time to be tried again has come. No other server is given it until the
-- lease is over: by then its server has died, and another takes it. One whose token is over is removed.
-- keys: mail, mailing
-- args: lease in ms, longest time until a mail is tried again in ms
-- replies: OK(mail) | OVER if one was removed | NONE
local text = redis.call('LPOP', mailKey)
    or redis.call('ZRANGEBYSCORE', mailingKey, '-inf', int(now), 'LIMIT', 0, 1)[1]
    -- The clock has gone back.
    or redis.call('ZRANGEBYSCORE', mailingKey, int(now + tonumber(longest) + 1), '+inf', 'LIMIT', 0, 1)[1]
if not text then return { 'NONE' } end
local limit = mailLimit(text)
if limit and limit <= now then
    redis.call('ZREM', mailingKey, text)
    return { 'OVER' }
end
redis.call('ZADD', mailingKey, int(now + tonumber(lease)), text)
return { 'OK', text }
