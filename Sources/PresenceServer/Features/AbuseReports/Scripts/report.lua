-- Keeps a report. If its user has reported the same thing before, that report stays as it is.
-- keys: report, repeated, open
-- args: id, keepFor so many ms, most reports that may be open, by its user, event for other servers (JSON),
--       each(field, value)
-- replies: OK(id of the report that is kept) | FULL | FENCED
local known = redis.call('GET', repeatedKey)
if known then return { 'OK', known } end
if redis.call('ZCARD', openKey) >= tonumber(most) then return { 'FULL' } end
redis.call('HSET', reportKey, 'state', 'open', 'by', by, 'at', int(now))
for field, value in each() do
    if value ~= '' then redis.call('HSET', reportKey, field, value) end
end
redis.call('PEXPIRE', reportKey, keepFor)
redis.call('SET', repeatedKey, id, 'PX', keepFor)
redis.call('ZADD', openKey, 0, id)
offer('report.created', by .. ' ' .. event)
return { 'OK', id }
