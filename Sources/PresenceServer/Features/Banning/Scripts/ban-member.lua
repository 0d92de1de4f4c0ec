-- flags: allow-oom
-- uses: ban-lib
-- Bans a user in one conversation until a time, whether they are a member or not.
-- keys: conversation, bans
-- args: conversation, user, limit its end in ms since 1970, reason encoded without spaces, most users banned in it
-- replies: OK(time of the ban) | NOWHERE if there is no such conversation | TOOMANY | FENCED
if redis.call('HEXISTS', conversationKey, 'kind') == 0 then return { 'NOWHERE' } end
local fields, count = redis.call('HGETALL', conversationKey), 0
for i = 1, #fields, 2 do
    local other = string.match(fields[i], '^b:(.+)$')
    if other and other ~= user then
        if banned(fields[i + 1]) then
            count = count + 1
        else
            redis.call('HDEL', conversationKey, fields[i])
            dropRow(bansKey, other, 'conversation:' .. conversation)
        end
    end
end
if count >= tonumber(most) then return { 'TOOMANY' } end
redis.call('HSET', conversationKey, 'b:' .. user, limit .. ' ' .. reason)
local scope = 'conversation:' .. conversation
putRow(bansKey, user, scope, limit, reason)
offer('user.banned', user .. ' ' .. bannedJSON(scope, limit, reason))
return { 'OK', int(now) }
