-- uses: asked-lib
-- A request reaches the user who is asked. This alone decides whether it is shown; the answer is the same. If both have asked
-- each other, it counts as accepted, which the intent of the user who is asked carries out.
-- keys: unfinished, asked, contacts, blocks, user
-- args: intent, user who is asked, from, number, name of them as JSON or '', text as JSON or '', isContact if they list the user
--       as a contact, most open requests, mostKept entries
-- replies: OK(1 if both have asked) | FENCED
number = tonumber(number)
local held = redis.call('HMGET', userKey, 'deletedAt', 'findable')
local theirs, own = askedAt(askedKey, 'in:' .. from), askedAt(askedKey, 'out:' .. from)
local isKnown = theirs and theirs.number >= number -- mutation: late-asking
if held[1] or isKnown then return { 'OK', '' } end
if redis.call('SISMEMBER', blocksKey, from) == 1 then return { 'OK', '' } end -- mutation: blocked-asks
-- An acceptance that is being carried out holds for a later request, too.
if isWaiting(own) or theirs and theirs.state == 'a' then
    putAsked(askedKey, 'in:' .. from, number, now, 'a')
    redis.call('SADD', unfinishedKey, intent)
    return { 'OK', '1' }
end
local isListed, findable = redis.call('SISMEMBER', contactsKey, from) == 1, string.sub(held[2] or '', 1, 1)
if findable == 'n' or findable == 'c' and not isListed then return { 'OK', '' } end -- mutation: hidden-is-asked
if isListed and isContact == '1' then return { 'OK', '' } end
if theirs and theirs.state == 'r' and isRecent(theirs) then return { 'OK', '' } end -- mutation: refused-asks-again
local open, over = 0, {}
for _, field in ipairs(redis.call('HKEYS', askedKey)) do
    local asked = string.sub(field, 1, 3) == 'in:' and askedAt(askedKey, field)
    if asked and not isRecent(asked) and asked.state ~= 'a' and asked.state ~= 'g' then
        redis.call('HDEL', askedKey, field)
    elseif asked and asked.state == 'o' then
        open = open + 1
    elseif asked and (asked.state == 'r' or asked.state == 'x') then
        over[#over + 1] = { field = field, at = asked.at }
    end
end
if open >= tonumber(most) then return { 'OK', '' } end
table.sort(over, function(a, b) return a.at < b.at end)
for i = 1, #over - tonumber(mostKept) do redis.call('HDEL', askedKey, over[i].field) end
putAsked(askedKey, 'in:' .. from, number, now, 'o', '\31' .. name .. '\31' .. text)
tellAsked(askedKey, user)
return { 'OK', '' }
