-- flags: allow-oom
-- uses: claim-lib
-- Closes a wish: it was carried out, or rejected because another owner has the thing.
-- keys: unfinished, record
-- args: intent, number, isDone if it was carried out
-- replies: OK | OPEN if a wish to be refused was fulfilled by another executor (or one carried out was not)
--       | GONE(last) if it was over before | FENCED
local values = redis.call('HMGET', recordKey, 'wish', 'claim', 'last')
local isFulfilled = values[2] == number
if isFulfilled and isDone ~= '1' then return { 'OPEN' } end
if values[1] ~= number then return { 'GONE', lastNumber(values[1], values[3], values[2]) } end -- mutation: ends-its-own-wish
if not isFulfilled and isDone == '1' then return { 'OPEN' } end
if not isFulfilled then redis.call('HSET', recordKey, 'last', number) end
redis.call('HDEL', recordKey, 'wish', 'wanted', 'wantedAs', 'releasing')
redis.call('SREM', unfinishedKey, intent)
return { 'OK' }
