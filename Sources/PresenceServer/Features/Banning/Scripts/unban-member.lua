-- flags: allow-oom
-- uses: ban-lib
-- Ends a user's ban in one conversation before its time.
-- keys: conversation, bans
-- args: conversation, user
-- replies: OK | FENCED
local scope = 'conversation:' .. conversation
local limit = dropRow(bansKey, user, scope)
redis.call('HDEL', conversationKey, 'b:' .. user)
if limit and limit > now then offer('user.unbanned', user .. ' ' .. bannedJSON(scope)) end
return { 'OK' }
