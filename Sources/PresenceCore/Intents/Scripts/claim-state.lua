-- flags: allow-oom
-- The state of an owner's wish.
-- keys: unfinished, record
-- args: intent
-- replies: OK(wish, wanted, claim), each '' if there is none | FENCED
local values = redis.call('HMGET', recordKey, 'wish', 'wanted', 'claim')
if not values[1] then redis.call('SREM', unfinishedKey, intent) end
local wish, wanted, claim = values[1] or '', values[2] or '', values[3] or '' -- mutation: state-has-the-claim
return { 'OK', wish, wanted, claim }
