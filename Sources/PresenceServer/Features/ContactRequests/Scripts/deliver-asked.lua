-- uses: asked-lib
-- A request reaches the user who is asked. This alone decides whether it is shown; the answer and the work are the same. If
-- both have asked each other, it counts as accepted, which the intent of the user who is asked carries out.
-- keys: unfinished, asked, contacts, blocks, user
-- args: intent, user who is asked, from, number, name of them as JSON or '', text as JSON or '', isContact if they list the user
--       as a contact, isGuest, most open requests, mostKept entries
-- replies: OK(1 if both have asked) | FENCED
number = tonumber(number)
local held = redis.call('HMGET', userKey, 'deletedAt', 'findable')
local theirs, own = askedAt(askedKey, 'in:' .. from), askedAt(askedKey, 'out:' .. from)
-- Before any decision, since it takes the most time: what is over is dropped, and the rest is counted.
local open, over, fields = {}, {}, redis.call('HGETALL', askedKey)
for i = 1, #fields, 2 do
    local at, state, rest = string.match(fields[i + 1], '^%d+ (%d+) (%a)(.*)$')
    if state and string.sub(fields[i], 1, 3) == 'in:' and state ~= 'a' and state ~= 'g' then
        local entry = { field = fields[i], at = tonumber(at), isGuest = string.sub(rest, -2) == '\31g' }
        if not isRecent(entry) then
            redis.call('HDEL', askedKey, entry.field)
        elseif state == 'o' then
            open[#open + 1] = entry
        else
            -- Refusals are kept the longest.
            if state == 'r' then entry.at = entry.at + askedFor end
            over[#over + 1] = entry
        end
    end
end
if #over > tonumber(mostKept) then table.sort(over, function(a, b) return a.at < b.at end) end
for i = 1, #over - tonumber(mostKept) do redis.call('HDEL', askedKey, over[i].field) end

-- The user sees nothing of it. An earlier answer holds for this request, too; an earlier request that was shown is
-- withdrawn, as there is a later one.
local function swallow()
    local state, at = 'x', now
    if theirs and isRecent(theirs) then state, at = theirs.state, theirs.at end
    putAsked(askedKey, 'in:' .. from, number, at, (state == 'o' or state == 'f') and 'w' or state)
    if state == 'o' then tellAsked(askedKey, user) end
    return { 'OK', '' }
end

-- A repeat brings back what fell out of the list.
local isBack = theirs and theirs.number == number and theirs.state == 'f'
local isKnown = theirs and theirs.number >= number and not isBack -- mutation: late-asking
if held[1] or isKnown then return { 'OK', '' } end
-- An acceptance that is being carried out holds for a later request, too.
local isAccepted = isWaiting(own) or theirs and theirs.state == 'a'
if redis.call('SISMEMBER', blocksKey, from) == 1 and not isAccepted then return swallow() end -- mutation: blocked-asks
if isAccepted then
    putAsked(askedKey, 'in:' .. from, number, now, 'a')
    redis.call('SADD', unfinishedKey, intent)
    return { 'OK', '1' }
end
local isListed, findable = redis.call('SISMEMBER', contactsKey, from) == 1, string.sub(held[2] or '', 1, 1)
if findable == 'n' or findable == 'c' and not isListed then return swallow() end -- mutation: hidden-is-asked
if isListed and isContact == '1' then return swallow() end
-- It was refused, or its asker has withdrawn it.
local isOver = theirs and theirs.state ~= 'x' and not isBack and isRecent(theirs)
if isOver then return swallow() end -- mutation: refused-asks-again
putAsked(askedKey, 'in:' .. from, number, now, 'o', table.concat({ '', name, text, isGuest == '1' and 'g' or nil }, '\31'))
-- One of a full list falls out: the oldest of a guest, or else the oldest.
open[#open + 1] = { field = 'in:' .. from, at = now, isGuest = isGuest == '1' }
if #open > tonumber(most) then
    table.sort(open, function(a, b)
        if a.isGuest ~= b.isGuest then return a.isGuest end
        if a.at ~= b.at then return a.at < b.at end
        return a.field < b.field
    end)
    local last = askedAt(askedKey, open[1].field)
    putAsked(askedKey, open[1].field, last.number, last.at, 'f')
end
tellAsked(askedKey, user)
return { 'OK', '' }
