-- uses: profile-lib
-- Replaces or removes the picture of a user with an account. `photo` is its name. The profile has its addresses in the form
-- "photo:FILE"; servers replace the beginning for clients. The key of a replaced picture, and with it the picture, stays for a
-- minute, for clients that do not yet have the new one.
-- keys: user, account, photo its new one or any, former one or any
-- args: user, name or '', formerName or '', photoURL encoded or '', thumbnailURL the same
-- replies: OK(version, BODY) | NONE without an account | CHANGED(name) if the former is another by now | FENCED
if redis.call('HEXISTS', accountKey, 'version') == 0 then return { 'NONE' } end
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
