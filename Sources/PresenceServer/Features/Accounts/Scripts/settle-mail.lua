-- flags: allow-oom
-- A mail that was taken has been sent or given up, or is to be tried again, unless it has been sent meanwhile.
-- KEYS: mailing
-- ARGV: now, mail, ms until it is tried again ('' for never)
-- Replies {OK}.
if ARGV[3] == '' then
    redis.call('ZREM', KEYS[1], ARGV[2])
else
    redis.call('ZADD', KEYS[1], 'XX', int(now + tonumber(ARGV[3])), ARGV[2])
end
return { 'OK' }
