-- uses: profile-lib
-- flags: no-writes
-- The first entries of the partition's directory whose name begins with a text.
-- keys: directory
-- args: starts, most
-- replies: OK(entry …)
local prefix = '[' .. folded(starts)
local reply = redis.call('ZRANGEBYLEX', directoryKey, prefix, prefix .. '\255', 'LIMIT', 0, most)
table.insert(reply, 1, 'OK')
return reply
