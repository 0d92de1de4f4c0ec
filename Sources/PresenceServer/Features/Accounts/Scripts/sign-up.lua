-- uses: claim-lib profile-lib account-lib
-- Makes an account with all that belongs to it. The user's id was drawn so that it lives in the partition of the address. A
-- username was claimed for it before: account and name come to be in the same moment, or neither.
-- KEYS: shards, unfinished, username's record, floor, user, emails, account, grants, mail
-- ARGV: now, channel, incarnation, intent, user, number of the wish for a username (or ''), address, password (hex),
--       displayName (encoded), idempotency and its time (or ''), grant, its key (hex), kind, name (encoded), digest of the
--       token that verifies the address (hex) and its time, mail ('' none), 1 if the address counts as verified
-- Replies {OK, what `fulfil` says or '', account, version}, {FENCED}, {GONE, last} if the wish is over, or {TAKEN, claim} if
-- the address is claimed by another: "USER NUMBER".
local channel, user, number = ARGV[2], ARGV[5], ARGV[6]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local taken = redis.call('HGET', KEYS[6], ARGV[7])
if taken then
    if number ~= '' then
        dropRecord(KEYS[3])
        redis.call('SREM', KEYS[2], ARGV[4])
    end
    return { 'TAKEN', taken }
end
local released, profile = '', { displayName = ARGV[9] }
if number ~= '' then
    local reply = fulfil(KEYS[3], number)
    if reply[1] ~= 'OK' then return reply end
    released = reply[2]
    profile.username = '"' .. shownOf(KEYS[3]) .. '"'
end
redis.call('HSET', KEYS[6], ARGV[7], user .. ' 0')
local limit = now + tonumber(ARGV[17])
redis.call('HSET', KEYS[7], 'email', ARGV[7], 'password', unhex(ARGV[8]), 'verify', ARGV[16] .. ' ' .. int(limit))
if ARGV[19] == '1' then redis.call('HSET', KEYS[7], 'verified', '1') end
if ARGV[10] ~= '' then redis.call('HSET', KEYS[7], 'idempotency', int(now + tonumber(ARGV[11])) .. ' ' .. ARGV[10]) end
changeProfile(channel, user, KEYS[5], KEYS[4], profile)
if ARGV[12] ~= '' then signIn(channel, user, KEYS[8], ARGV[12], ARGV[13], ARGV[14], ARGV[15], 0, 1) end
if ARGV[18] ~= '' then pushMail(KEYS[9], ARGV[18], limit) end
offer('account.created', user)
local body, version = accountChanged(channel, user, KEYS[7], KEYS[4])
return { 'OK', released, body, version }
