-- uses: claim-lib
-- Opens a wish for a thing, or for none. An open wish must be completed first.
-- keys: unfinished, record
-- args: intent, thing or '' for none, shown how it is shown
-- replies: WISH(number) | HELD if there is nothing to do | OPEN if an earlier wish is not carried out | FENCED
local values = redis.call('HMGET', recordKey, 'wish', 'last', 'held', 'heldAs', 'claim')
if values[1] then return { 'OPEN' } end
if (values[3] or '') == thing and (values[4] or values[3] or '') == shown then return { 'HELD' } end
local number = int(nextVersion(lastNumber(false, values[2], values[5]), floorKey))
if thing ~= '' then
    redis.call('HSET', recordKey, 'wish', number, 'wanted', thing, 'wantedAs', shown)
else
    redis.call('HSET', recordKey, 'wish', number)
end
redis.call('SADD', unfinishedKey, intent) -- mutation: wish-is-listed
return { 'WISH', number }
