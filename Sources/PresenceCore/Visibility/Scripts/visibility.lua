-- uses: policy-lib, asked-lib
-- Changes a user's visibility settings, or one of the lists of contacts and blocks. A change that has an effect is published
-- (policy-lib). A block ends what the two users have asked each other. A malformed field is the error DAMAGED.
-- keys: user, list of contacts or blocks; of a change of settings any, unfinished, asked
-- args: user, newPresence e c n or '' to leave, newLastSeen likewise, newFindable likewise, newFrom e c or '' to leave,
--       list contacts or blocks or -, most in the list, asking intent of what the user asks or '' without that,
--       each(change +ID or -ID; nobody twice)
-- replies: OK(version of the change or 0, presence, lastSeen, contacts, blocks, receipts or '',
--          findable and from, or '') | FULL | FENCED
local policy = policyAt(userKey)
if not policy then return redis.error_reply('DAMAGED the visibility of a user cannot be read') end
local changed = false
if newPresence ~= '' and newPresence ~= policy.presence then policy.presence, changed = newPresence, true end
if newLastSeen ~= '' and newLastSeen ~= policy.lastSeen then policy.lastSeen, changed = newLastSeen, true end
if newFindable .. newFrom ~= '' then
    local findable, from = string.sub(policy.findable, 1, 1), string.sub(policy.findable, 2)
    findable = newFindable ~= '' and newFindable or findable ~= '' and findable or '-'
    findable = findable .. (newFrom ~= '' and newFrom or from)
    if findable ~= policy.findable then
        redis.call('HSET', userKey, 'findable', findable)
        policy.findable, changed = findable, true
    end
end

local added, removed, words = {}, {}, {}
for change in each() do
    local isAdded, id = string.sub(change, 1, 1) == '+', string.sub(change, 2)
    if isAdded == (redis.call('SISMEMBER', listKey, id) == 0) then
        local ids = isAdded and added or removed
        ids[#ids + 1] = id
        words[#words + 1] = change
    end
end
if #words > 0 then
    local count = redis.call('SCARD', listKey) + #added - #removed
    if #added > 0 and count > tonumber(most) then return { 'FULL' } end
    for _, id in ipairs(added) do
        redis.call('SADD', listKey, id)
        if list == 'blocks' and asking ~= '' then endAsked(askedKey, user, id, unfinishedKey, asking) end
    end
    for _, id in ipairs(removed) do redis.call('SREM', listKey, id) end
    changed = true
    if list == 'contacts' then policy.contacts = int(count) else policy.blocks = int(count) end
end
if changed then savePolicy(policy, user, userKey, list, words) end
return { 'OK', changed and policy.version or '0', policy.presence, policy.lastSeen, policy.contacts, policy.blocks,
    policy.receipts, policy.findable }
