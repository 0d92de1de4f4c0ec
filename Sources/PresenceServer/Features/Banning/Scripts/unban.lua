-- flags: allow-oom
-- uses: ban-lib
-- Ends a user's ban before its time.
-- keys: user, bans
-- args: user
-- replies: OK | FENCED
local limit = dropRow(bansKey, user, 'all')
redis.call('HDEL', userKey, 'ban') -- mutation: unban-ends
if limit and limit > now then offer('user.unbanned', user .. ' ' .. bannedJSON('all')) end
return { 'OK' }
