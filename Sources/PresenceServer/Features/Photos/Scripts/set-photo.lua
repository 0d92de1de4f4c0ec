-- uses: profile-lib
-- A user with an account has another picture from now on, or none. `photo` is its name; the profile has its addresses, as
-- "photo:FILE": how they begin is put there when they are told. One that is replaced is kept for a minute, for those who have not
-- heard of the new one: as long as its name has a key.
-- keys: user, account, photo its new one or any, former one or any
-- args: user, name or '', formerName or '', photoURL encoded or '', thumbnailURL the same
-- replies: OK(version, BODY) | NONE without an account | CHANGED(name) if the former is another by now | FENCED
if redis.call('HEXISTS', accountKey, 'email') == 0 then return { 'NONE' } end
local held = redis.call('HGET', userKey, 'photo') or ''
if held ~= formerName then return { 'CHANGED', held } end
if name ~= '' then
    if formerName ~= '' then redis.call('PEXPIRE', formerKey, 60000) end
    redis.call('SET', photoKey, user)
    redis.call('HSET', userKey, 'photo', name)
else
    if formerName ~= '' then redis.call('DEL', formerKey) end
    redis.call('HDEL', userKey, 'photo')
end
local version, body = changeProfile(channel, user, userKey, floorKey, { photoURL = photoURL, thumbnailURL = thumbnailURL })
return { 'OK', version, body }
