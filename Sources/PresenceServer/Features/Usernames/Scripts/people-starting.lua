-- uses: profile-lib
-- flags: no-writes
-- The first entries of the partition's directory whose name begins with a text, or those after an entry (hexadecimal: it
-- may end within a character).
-- keys: directory
-- args: starts, after, most
-- replies: OK(entry …)
local prefix = '[' .. folded(starts)
local from = prefix
if after ~= '' then
    from = '(' .. string.gsub(after, '%x%x', function(byte) return string.char(tonumber(byte, 16)) end)
end
local reply = redis.call('ZRANGEBYLEX', directoryKey, from, prefix .. '\255', 'LIMIT', 0, most)
table.insert(reply, 1, 'OK')
return reply
