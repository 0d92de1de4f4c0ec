-- flags: allow-oom
-- uses: webhook-lib
-- Events of an endpoint that are due, for one sender: nobody else gets them for so long.
-- KEYS: shards, state, due, bodies
-- ARGV: now, channel, incarnation, most, most bytes, for how many ms
-- Replies {OK, how many wait, ms until the next is due or '', ID, "TRIES SUBJECT BODY", ...}, {OFF, how many wait} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local reply = { 'OK', int(redis.call('ZCARD', KEYS[3])), '' }
if redis.call('HEXISTS', KEYS[2], 'off') == 1 then return { 'OFF', reply[2] } end
local clock, bytes = queueClock(KEYS[2]), 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', int(clock), 'LIMIT', 0, ARGV[4])) do
    local value = redis.call('HGET', KEYS[4], id)
    if not value then
        redis.call('ZREM', KEYS[3], id)
    else
        bytes = bytes + #value
        if bytes > tonumber(ARGV[5]) and #reply > 3 then break end
        -- The half says that a sender has it (webhook-enqueue).
        redis.call('ZADD', KEYS[3], int(clock + tonumber(ARGV[6])) .. '.5', id)
        reply[#reply + 1] = id
        reply[#reply + 1] = value
    end
end
local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
if first[2] then reply[3] = int(math.max(0, math.ceil(tonumber(first[2])) - clock)) end
return reply
