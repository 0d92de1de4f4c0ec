-- flags: allow-oom
-- uses: account-lib, push-lib
-- A user has a message that none of their devices has. They are told once for each conversation until it is read.
-- KEYS: shards, push, pushed, sessions
-- ARGV: now, channel, incarnation, user, conversation, number of the message, that of the newest one that they have read, ms to
--       wait
-- Replies {OK, ms until it is decided}, {TOLD} or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local told = redis.call('HGET', KEYS[3], ARGV[5])
if told and tonumber(string.match(told, '^%d+')) > tonumber(ARGV[7]) then return { 'TOLD' } end
local keys = { push = KEYS[2], pushed = KEYS[3], sessions = KEYS[4] }
return { 'OK', int(noteDue(keys, ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[8]))) }
