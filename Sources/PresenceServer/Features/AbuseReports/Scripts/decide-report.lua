-- flags: allow-oom
-- Records the decision about a report; a later one replaces it.
-- keys: report, open, accepted, dismissed
-- args: id, state accepted or dismissed, action
-- replies: OK | NONE | FENCED
if redis.call('EXISTS', reportKey) == 0 then return { 'NONE' } end
redis.call('HSET', reportKey, 'state', state, 'action', action, 'decidedAt', int(now))
for _, key in ipairs({ openKey, acceptedKey, dismissedKey }) do redis.call('ZREM', key, id) end
redis.call('ZADD', state == 'accepted' and acceptedKey or dismissedKey, 0, id)
return { 'OK' }
