-- uses: policy-lib, asked-lib
-- A user answers another one's request. First step of an intent, if it is accepted.
-- keys: unfinished, asked, contacts
-- args: intent, user, other, isAccepted, mostContacts
-- replies: OK | NONE if there is no such request | FULL | FENCED
local theirs = askedAt(askedKey, 'in:' .. other)
if not theirs or theirs.state == 'g' then return { 'NONE' } end
if theirs.state == 'o' and isRecent(theirs) then
    if isAccepted == '1' then
        if redis.call('SCARD', contactsKey) >= tonumber(mostContacts)
            and redis.call('SISMEMBER', contactsKey, other) == 0 then
            return { 'FULL' }
        end
        putAsked(askedKey, 'in:' .. other, theirs.number, theirs.at, 'a')
        redis.call('SADD', unfinishedKey, intent)
    else
        putAsked(askedKey, 'in:' .. other, theirs.number, now, 'r') -- mutation: refused-stays
    end
    tellAsked(askedKey, user)
    return { 'OK' }
end
-- The same answer again.
local isKnown
if isAccepted == '1' then
    isKnown = theirs.state == 'a' or theirs.state == 'x' and redis.call('SISMEMBER', contactsKey, other) == 1
else
    isKnown = theirs.state == 'r'
end
return { isKnown and 'OK' or 'NONE' }
