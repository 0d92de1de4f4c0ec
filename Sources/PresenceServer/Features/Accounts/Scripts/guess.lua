-- A password is about to be tried for an address, whether it is anybody's or not: counted before it is looked at. From the
-- fifth failure on there is a pause that doubles up to a minute; from the hundredth only a reset helps. A hundred failures are
-- remembered for the whole time, fewer for their share of it: no more can be tried by waiting, and an invented address costs little.
-- KEYS: shards, guesses, emails
-- ARGV: now, incarnation, how long a hundred failures are remembered, address
-- Replies {OK, claim or ''}, {FENCED} or {WAIT, ms}.
if fenced(KEYS[1], ARGV[2]) then return { 'FENCED' } end
local failures, blocked = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+) (%d+)$')
failures, blocked = tonumber(failures or '0'), tonumber(blocked or '0')
local longest = failures >= 100 and tonumber(ARGV[3]) or 60000
-- A clock that went back makes no pause longer.
if blocked > now and blocked <= now + longest then return { 'WAIT', int(blocked - now) } end
failures = failures + 1
local pause = 0
if failures >= 100 then
    pause = tonumber(ARGV[3])
elseif failures >= 5 then
    pause = math.min(60000, 1000 * 2 ^ math.min(failures - 5, 6))
end
local memory = tonumber(ARGV[3]) * math.min(failures, 100) / 100
redis.call('SET', KEYS[2], int(failures) .. ' ' .. int(now + pause), 'PX', int(memory))
return { 'OK', redis.call('HGET', KEYS[3], ARGV[4]) or '' }
