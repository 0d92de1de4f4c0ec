-- flags: allow-oom
-- uses: webhook-lib
-- What became of events that were tried.
-- KEYS: shards, state, due, bodies
-- ARGV: now, channel, incarnation, then ID OUTCOME PAUSE REASON of each: taken; failed, to be tried again after PAUSE ms;
--       givenUp; unwanted, which switches the endpoint off; again, if it was not tried
-- Replies {OK} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local clock, counts, bytes = queueClock(KEYS[2]), {}, 0
local function count(name) counts[name] = (counts[name] or 0) + 1 end
for i = 4, #ARGV, 4 do
    local id, outcome, reason = ARGV[i], ARGV[i + 1], ARGV[i + 3]
    local value = redis.call('HGET', KEYS[4], id)
    if value and (outcome == 'taken' or outcome == 'givenUp') then
        redis.call('ZREM', KEYS[3], id)
        redis.call('HDEL', KEYS[4], id)
        bytes = bytes - #value
        count(outcome == 'taken' and 'sent' or 'givenUp')
    elseif value then
        redis.call('ZADD', KEYS[3], int(clock + tonumber(ARGV[i + 2])), id)
        if outcome == 'failed' then
            local tries, rest = string.match(value, '^(%d+)(.*)$')
            redis.call('HSET', KEYS[4], id, int(tonumber(tries) + 1) .. rest)
            count('failed')
        end
    end
    if outcome == 'unwanted' then redis.call('HSET', KEYS[2], 'off', int(now)) end
    if reason ~= '' then redis.call('HSET', KEYS[2], 'failure', int(now) .. ' ' .. reason) end
end
for name, number in pairs(counts) do redis.call('HINCRBY', KEYS[2], name, number) end
if bytes ~= 0 then redis.call('HINCRBY', KEYS[2], 'bytes', bytes) end
return { 'OK' }
