-- uses: account-lib
-- Uses up the code or the link of a mail, and returns the address's claim. A wrong code counts as a try: after five the code has
-- no effect, and after a hundred, over all codes of the address, only links are accepted. The link is too long to be guessed, so
-- strangers cannot take it from its owner. It clears the failures, and so does a right code.
-- keys: codes, emails
-- args: address, code digest of the code (hex) or '', link digest of the link's token (hex) if there is no code, memory for a
--       hundred failures in ms
-- replies: OK(claim or '') | WRONG | FENCED
local held = redis.call('HMGET', codesKey, 'code', 'link', 'until', 'tries', 'failures')
if not held[3] or tonumber(held[3]) <= now then return { 'WRONG' } end
if code == '' then
    if held[2] ~= link then return { 'WRONG' } end
else
    local tries, failures = tonumber(held[4]), tonumber(held[5] or '0')
    if tries >= 5 or failures >= 100 then return { 'WRONG' } end
    if held[1] ~= code then
        redis.call('HSET', codesKey, 'tries', int(tries + 1), 'failures', int(failures + 1))
        keepCodes(codesKey, failures + 1, tonumber(memory))
        return { 'WRONG' }
    end
end
redis.call('HDEL', codesKey, 'code', 'link', 'until', 'tries', 'failures') -- mutation: code-works-once
return { 'OK', redis.call('HGET', emailsKey, address) or '' }
