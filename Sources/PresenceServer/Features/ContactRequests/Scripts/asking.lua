-- uses: profile-lib, policy-lib, asked-lib
-- Notes what was carried out of the things that a user has asked or answered, and returns some of the rest. The intent ends
-- when there are none. Damaged ones are skipped, and keep the intent open.
-- keys: unfinished, asked, contacts, user
-- args: intent, user, most things of a reply,
--       each(thing, other, number, outcome damaged or of an acceptance y or n that the other one's partition has replied)
-- replies: OK(displayName of the user as JSON or '', 1 if they are a guest, then of each: thing, other, number, TEXT, 1 if the
--       other is a contact) | FENCED
-- Things: d deliver, x withdraw, a carry out an acceptance, g let the other user forget a deleted one.
local damaged, isDeleted = {}, redis.call('HEXISTS', userKey, 'deletedAt') == 1
for thing, other, number, outcome in each() do
    number = tonumber(number)
    local field = (thing == 'd' or thing == 'x') and 'out:' .. other or 'in:' .. other
    local asked = askedAt(askedKey, field)
    if outcome == 'damaged' then
        damaged[other] = true
    elseif not asked or asked.number ~= number then
        -- A later one has taken its place.
    elseif thing == 'd' and asked.state == 'w' then
        putAsked(askedKey, field, number, asked.at, 's')
    elseif thing == 'x' and asked.state == 'x' or thing == 'g' and asked.state == 'g' then
        redis.call('HDEL', askedKey, field)
    elseif thing == 'a' and asked.state == 'a' then
        local policy = policyAt(userKey)
        if not policy then return redis.error_reply('DAMAGED the visibility of a user cannot be read') end
        putAsked(askedKey, field, number, now, 'x')
        -- Also if the user has blocked the other since: like other contacts.
        if outcome == 'y' and not isDeleted then
            addContact(policy, user, userKey, contactsKey, other) -- mutation: accepted-is-mutual
        end
        -- Both have asked: one request is enough.
        local own = askedAt(askedKey, 'out:' .. other)
        if own and (own.state == 'w' or own.state == 's') then
            putAsked(askedKey, 'out:' .. other, own.number, own.at, 'x')
        end
        tellAsked(askedKey, user)
    end
end
local name = membersOf(redis.call('HGET', userKey, 'profile') or '').displayName
local isGuest = redis.call('HEXISTS', userKey, 'guest')
local reply, isOver, fields = { 'OK', name or '', int(isGuest) }, true, redis.call('HGETALL', askedKey)
for i = 1, #fields, 2 do
    local kind, other = string.match(fields[i], '^(%a+):(.+)$')
    local number, state, rest = string.match(fields[i + 1], '^(%d+) %d+ (%a)(.*)$')
    local thing = kind == 'out' and (state == 'w' and 'd' or state == 'x' and 'x')
        or kind == 'in' and (state == 'a' or state == 'g') and state
    if thing then
        isOver = false
        if not damaged[other] and #reply < 3 + 5 * tonumber(most) then
            local isContact = redis.call('SISMEMBER', contactsKey, other)
            for _, word in ipairs({ thing, other, number, string.sub(rest, 2), int(isContact) }) do
                reply[#reply + 1] = word
            end
        end
    end
end
if isOver then
    redis.call('SREM', unfinishedKey, intent)
    if isDeleted then redis.call('DEL', askedKey) end
end
return reply
