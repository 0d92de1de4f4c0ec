-- flags: allow-oom
-- uses: account-lib
-- A mail that was taken has been sent or given up, or is to be tried again, unless it has been sent meanwhile. One whose token is over
-- by then does not wait for longer than that: it is removed when it is taken.
-- keys: mailing
-- args: text of the mail, again ms until it is tried again or '' for never
-- replies: OK
if again == '' then
    redis.call('ZREM', mailingKey, text)
else
    local due = now + tonumber(again)
    redis.call('ZADD', mailingKey, 'XX', int(math.min(due, mailLimit(text) or due)), text)
end
return { 'OK' }
