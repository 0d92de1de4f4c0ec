-- uses: policy-lib, asked-lib
-- A user asks another one to become contacts. First step of an intent: the other one's partition decides whether the request
-- is shown. If the other one has asked already, this is the answer.
-- keys: unfinished, asked, contacts, blocks, user
-- args: intent, other, text as JSON or '', most users who may be asked at a time, mostContacts
-- replies: OK | BANNED(until, reason) | BLOCKS if the user blocks the other | TOOMANY | FULL | FENCED
local ban = banned(redis.call('HGET', userKey, 'ban'))
if ban then return ban end
if redis.call('SISMEMBER', blocksKey, other) == 1 then return { 'BLOCKS' } end
local theirs, own = askedAt(askedKey, 'in:' .. other), askedAt(askedKey, 'out:' .. other)
if theirs and theirs.state == 'o' and isRecent(theirs) then
    putAsked(askedKey, 'in:' .. other, theirs.number, theirs.at, 'a')
    redis.call('SADD', unfinishedKey, intent)
    return { 'OK' }
end
if isWaiting(own) then
    -- The same request is delivered again: it is shown only if it fell out of a full list.
    if own.state == 's' then putAsked(askedKey, 'out:' .. other, own.number, own.at, 'w', '\31' .. text) end
    redis.call('SADD', unfinishedKey, intent)
    return { 'OK' }
end
local waiting, fields = 0, redis.call('HKEYS', askedKey)
for _, field in ipairs(fields) do
    local asked = string.sub(field, 1, 4) == 'out:' and askedAt(askedKey, field)
    if isWaiting(asked) then
        waiting = waiting + 1
    elseif asked and asked.state ~= 'x' and not isRecent(asked) then
        redis.call('HDEL', askedKey, field)
    end
end
if waiting >= tonumber(most) then return { 'TOOMANY' } end
-- Room for all answers: an acceptance is not refused later.
if redis.call('SCARD', contactsKey) + waiting >= tonumber(mostContacts) then return { 'FULL' } end
putAsked(askedKey, 'out:' .. other, nextNumber(askedKey), now, 'w', '\31' .. text)
redis.call('SADD', unfinishedKey, intent)
return { 'OK' }
