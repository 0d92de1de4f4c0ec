-- flags: no-writes
-- uses: account-lib, push-lib
-- The pushes that are held for a user: conversations, and notifications as #SEQ.TAG.
-- keys: pushed, user
-- args: most of them
-- replies: OK(settings of notifications or '', whether the user is busy, 1 if there are more, now, then of each: its place, its record)
local held = redis.call('HMGET', userKey, 'notify', 'status')
local reply, places = { 'OK', held[1] or '', held[2] == 'busy' and '1' or '0', '0', int(now) }, heldPlaces(pushedKey)
if #places > tonumber(most) then reply[4] = '1' end
for i = 1, math.min(#places, tonumber(most)) do
    reply[#reply + 1] = places[i]
    reply[#reply + 1] = pushAt(pushedKey, places[i]).text
end
return reply
