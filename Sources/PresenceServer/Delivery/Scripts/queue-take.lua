-- flags: allow-oom
-- uses: queue-lib
-- Events of a receiver that are due, for one server: no other gets them until the lease ends. They are looked for from a row on:
-- events of subjects that can use no more are passed over. There may be very many of them, so a look is limited, to some 2 ms.
-- keys: state, due, bodies
-- args: most events, mostOfSubject, mostBytes, lease in ms, rows to look at, only this subject or '' for all except some, due of the
--       row to begin with, id of that or '', each(excepted subject)
-- replies: OK(waiting, ms until the next is due or 0 or '', due and ID of the first row that was not reached, ALL or MORE are due,
--       number of subjects passed over, then SUBJECT, DUE, ID of each's first, then ID, DUE, "TRIES SUBJECT BODY" of each event)
--       | OFF(waiting) | FENCED
local reply = { 'OK', int(redis.call('ZCARD', dueKey)), '' }
if redis.call('HEXISTS', stateKey, 'off') == 1 then return { 'OFF', reply[2] } end
local clock, bytes, count, looked, mostLooked = queueClock(stateKey), 0, 0, 0, 512 * 1024
local from = id ~= '' and tonumber(redis.call('ZSCORE', dueKey, id) or '') == tonumber(due) and redis.call('ZRANK', dueKey, id)
    or redis.call('ZCOUNT', dueKey, '-inf', '(' .. due)
local found = redis.call('ZRANGE', dueKey, from, int(from + tonumber(rows)), 'WITHSCORES')
local taken, passed, full, ofSubject = {}, {}, {}, {}
for subject in each() do full[subject] = true end
local stop
for i = 1, #found, 2 do
    local event, at = found[i], found[i + 1]
    if tonumber(at) > clock then break end
    if count == tonumber(most) or i > 2 * tonumber(rows) or looked > mostLooked then stop = i break end
    local value = redis.call('HGET', bodiesKey, event)
    local subject = string.match(value or '', '^%d+ (%S+)') or ''
    looked = looked + #(value or '')
    if not value then
        redis.call('ZREM', dueKey, event)
    elseif only == '' and full[subject] then
        if full[subject] ~= 'passed' then
            full[subject] = 'passed'
            for _, word in ipairs({ subject, at, event }) do passed[#passed + 1] = word end
        end
    elseif only == '' or only == subject then
        bytes = bytes + #value
        if full[subject] or bytes > tonumber(mostBytes) and count > 0 then stop = i break end
        -- The half shows that a server has it (queue-add).
        redis.call('ZADD', dueKey, int(clock + tonumber(lease)) .. '.5', event)
        for _, word in ipairs({ event, int(math.floor(tonumber(at))), value }) do taken[#taken + 1] = word end
        count = count + 1
        ofSubject[subject] = (ofSubject[subject] or 0) + 1
        if subject ~= '' and ofSubject[subject] == tonumber(mostOfSubject) then full[subject] = true end
    end
end
if stop then
    for place, word in ipairs({ '0', found[stop + 1], found[stop], 'MORE' }) do reply[2 + place] = word end
else
    local first = redis.call('ZRANGEBYSCORE', dueKey, '(' .. int(clock), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    local wait = first[2] and int(math.ceil(tonumber(first[2])) - clock) or ''
    for place, word in ipairs({ wait, int(clock), '', 'ALL' }) do reply[2 + place] = word end
end
reply[#reply + 1] = int(#passed / 3)
for _, words in ipairs({ passed, taken }) do
    for _, word in ipairs(words) do reply[#reply + 1] = word end
end
return reply
