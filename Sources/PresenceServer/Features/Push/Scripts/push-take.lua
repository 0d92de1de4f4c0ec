-- flags: allow-oom
-- Pushes of a partition that are due, for one server: nobody else gets them for so long.
-- KEYS: shards, push
-- ARGV: now, channel, incarnation, most, for how many ms, ms further ahead than which nothing is ever put
-- Replies {OK, ms until the next is due or '', until when nobody else gets these, "USER CONVERSATION" ...} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
-- Redis' clock went back: what is so far ahead is due.
local ahead = '(' .. int(now + tonumber(ARGV[6]))
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], ahead, '+inf', 'LIMIT', 0, ARGV[4])) do
    redis.call('ZADD', KEYS[2], int(now), entry)
end
local reply = { 'OK', '', int(now + tonumber(ARGV[5])) }
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', int(now), 'LIMIT', 0, ARGV[4])) do
    redis.call('ZADD', KEYS[2], int(now + tonumber(ARGV[5])), entry)
    reply[#reply + 1] = entry
end
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
if first[2] then reply[2] = int(math.max(0, tonumber(first[2]) - now)) end
return reply
