-- flags: allow-oom
-- uses: account-lib
-- A mail that was taken has been sent or given up, or is to be tried again, unless it has been sent meanwhile. One whose token is over
-- by then does not wait for longer than that: it is removed when it is taken.
-- KEYS: mailing
-- ARGV: now, mail, ms until it is tried again ('' for never)
-- Replies {OK}.
if ARGV[3] == '' then
    redis.call('ZREM', KEYS[1], ARGV[2])
else
    local due = now + tonumber(ARGV[3])
    redis.call('ZADD', KEYS[1], 'XX', int(math.min(due, mailLimit(ARGV[2]) or due)), ARGV[2])
end
return { 'OK' }
