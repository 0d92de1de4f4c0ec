-- uses: profile-lib
-- A user with an account has another picture from now on, or none. `photo` is its name; the profile has its addresses, as
-- "photo:FILE": how they begin is put there when they are told. One that is replaced is kept for a minute, for those who have not
-- heard of the new one: as long as its name has a key.
-- KEYS: shards, floor, user, account, new picture (any, if there is none), former one (the same)
-- ARGV: now, channel, incarnation, user, new name or '', former name or '', photoURL and thumbnailURL (encoded, or '')
-- Replies {OK, version, BODY}, {FENCED}, {NONE} without an account, or {CHANGED, name} if the former is another by now.
local channel, user, name, former = ARGV[2], ARGV[4], ARGV[5], ARGV[6]
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
if redis.call('HEXISTS', KEYS[4], 'email') == 0 then return { 'NONE' } end
local held = redis.call('HGET', KEYS[3], 'photo') or ''
if held ~= former then return { 'CHANGED', held } end
if name ~= '' then
    if former ~= '' then redis.call('PEXPIRE', KEYS[6], 60000) end
    redis.call('SET', KEYS[5], user)
    redis.call('HSET', KEYS[3], 'photo', name)
else
    if former ~= '' then redis.call('DEL', KEYS[6]) end
    redis.call('HDEL', KEYS[3], 'photo')
end
local version, body = changeProfile(channel, user, KEYS[3], KEYS[2], { photoURL = ARGV[7], thumbnailURL = ARGV[8] })
return { 'OK', version, body }
