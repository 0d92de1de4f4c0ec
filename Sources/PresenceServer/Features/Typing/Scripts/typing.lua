-- uses: typing-lib
-- A session's user types or has stopped. Publishes "T conversation version at USER:MS …".
-- keys: conversation, typing
-- args: conversation, user, sessionId, isTyping, expiry in ms
-- replies: OK | FORBIDDEN | BANNED(until, reason) | FENCED
local held = redis.call('HMGET', conversationKey, 'm:' .. user, 'b:' .. user, 'request')
if not held[1] then return { 'FORBIDDEN' } end
local ban = isTyping == '1' and banned(held[2])
if ban then return ban end -- mutation: banned-types
-- A stranger does not see that the user is about to answer.
if isTyping == '1' and (held[3] == user or held[3] == user .. ' ?') then return { 'OK' } end -- mutation: strangers-see-typing
local left, version, lapsed, most = typists(typingKey, true)
local _, before = listed(left)
local field = user .. ' ' .. sessionId
if isTyping == '1' then
    redis.call('HSET', typingKey, field, int(now + tonumber(expiry)), '#most', int(math.max(most, tonumber(expiry))))
    -- Typing lasts seconds, so the key expires an hour later. Versions follow the clock, so none is lost with it.
    redis.call('PEXPIRE', typingKey, int(tonumber(expiry) + 3600000))
elseif redis.call('HDEL', typingKey, field) == 0 and lapsed == 0 then
    return { 'OK' }
end
left, version = typists(typingKey, true)
local list, after = listed(left)
if before ~= after or lapsed > 0 then version = typingVersion(typingKey, version, lapsed) end
publish(channel, 'T', conversation, int(version), int(now), list)
return { 'OK' }
