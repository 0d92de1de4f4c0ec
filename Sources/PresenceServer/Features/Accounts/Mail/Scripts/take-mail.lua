-- flags: allow-oom
-- uses: account-lib
-- Takes a mail for sending: the next one waiting, or one whose retry is due. No other server gets it during the lease; if the
-- server dies, another takes it afterwards. A mail whose token has expired is removed.
-- keys: mail, mailing
-- args: lease in ms, longest time until a mail is tried again in ms
-- replies: OK(mail) | OVER if one was removed | NONE
local text = redis.call('LPOP', mailKey)
    or redis.call('ZRANGEBYSCORE', mailingKey, '-inf', int(now), 'LIMIT', 0, 1)[1]
    -- Due times this far ahead mean that the clock has gone back.
    or redis.call('ZRANGEBYSCORE', mailingKey, int(now + tonumber(longest) + 1), '+inf', 'LIMIT', 0, 1)[1]
if not text then return { 'NONE' } end
local limit = mailLimit(text)
if limit and limit <= now then
    redis.call('ZREM', mailingKey, text)
    return { 'OVER' }
end
redis.call('ZADD', mailingKey, int(now + tonumber(lease)), text)
return { 'OK', text }
