-- uses: policy-lib, asked-lib
-- The user who has asked gets the other one as a contact, unless the request is withdrawn. May run twice, and after the user
-- has asked again: the later request is not accepted by this, else one executor may find that there is no contact, and
-- another one make it.
-- keys: asked, contacts, user
-- args: user who has asked, other, number
-- replies: OK(y if the request is valid, or n) | FENCED
local own = askedAt(askedKey, 'out:' .. other)
if not own or own.number ~= tonumber(number) or own.state == 'x' then
    -- An earlier run may have made the contact, and the other one gets theirs.
    return { 'OK', redis.call('SISMEMBER', contactsKey, other) == 1 and 'y' or 'n' }
end
if own.state == 'd' then return { 'OK', 'y' } end
local policy = policyAt(userKey)
if not policy then return redis.error_reply('DAMAGED the visibility of a user cannot be read') end
putAsked(askedKey, 'out:' .. other, own.number, now, 'd')
addContact(policy, user, userKey, contactsKey, other)
-- Both have asked: one request is enough.
local theirs = askedAt(askedKey, 'in:' .. other)
if theirs and theirs.state == 'o' then
    putAsked(askedKey, 'in:' .. other, theirs.number, now, 'x')
    tellAsked(askedKey, user)
end
return { 'OK', 'y' }
