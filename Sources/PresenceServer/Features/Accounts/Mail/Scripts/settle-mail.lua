-- flags: allow-oom
-- uses: account-lib
-- Removes a taken mail that was sent or given up, or schedules its retry, unless another server has sent it meanwhile. A retry
-- is due at the token's expiry at the latest, when the mail is removed instead.
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
