-- flags: allow-oom
-- How far an account's change of address has come.
-- KEYS: shards, unfinished, account
-- ARGV: now, channel, incarnation, intent
-- Replies {OK, wanted address or '', number, address}, with '' and 0 and '' if the account is deleted and addresses are to be
-- given up, {OK} if there is nothing to do, or {FENCED}.
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local held = redis.call('HMGET', KEYS[3], 'emailWanted', 'emailWish', 'email', 'emailReleasing')
if not held[3] and not held[4] then
    redis.call('SREM', KEYS[2], ARGV[4])
    return { 'OK' }
end
return { 'OK', string.match(held[1] or '', '^(%S+) %d+$') or '', held[2] or '0', held[3] or '' }
