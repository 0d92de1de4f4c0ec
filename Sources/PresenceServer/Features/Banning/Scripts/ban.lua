-- flags: allow-oom
-- uses: ban-lib, asked-lib
-- Bans a user until a time, and ends all their sessions, on all shards: "K user 0 at UNTIL REASON SESSION SESSION …". Sessions that
-- are named end in any case, as in disconnect.lua.
-- keys: user, sessions, bans, past used if statuses are kept, unfinished, asked
-- args: id of the user, limit its end in ms since 1970, reason encoded without spaces, bounds of the past or '', asking intent of what the user asks
-- replies: OK(time of the ban) | FENCED
local user = read(id, userKey, sessionsKey, floorKey, channel, pastKey, bounds)
local sessions = redis.call('HKEYS', sessionsKey)
setUserField(user, 'ban', limit .. ' ' .. reason)
setUserField(user, 'barredAt', int(now))
if #sessions > 0 then
    redis.call('DEL', sessionsKey) -- mutation: ban-ends-sessions
    seen(user, now)
end
putRow(bansKey, id, 'all', limit, reason)
withdrawAsked(askedKey, unfinishedKey, asking)
redis.call('PUBLISH', channel, table.concat({ 'K', id, '0', int(now), limit, reason, table.concat(sessions, ' ') }, ' '))
finish(user, now)
offer('user.banned', id .. ' ' .. bannedJSON('all', limit, reason))
return { 'OK', int(now) }
