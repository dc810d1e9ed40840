-- Reads a part of a list of tasks. Positions are absolute: what was trimmed off the head of the list of all still counts.
-- KEYS: meta, list
-- ARGV: the first position, the position after the last, 1 where the list is that of all tasks
-- Returns: {how many were trimmed, the position after the last of the list, ids from the first position that is there}
local call = redis.call
local trimmed = ARGV[3] == '1' and tonumber(call('HGET', KEYS[1], 'trimmed') or 0) or 0
local first = math.max(tonumber(ARGV[1]), trimmed)
local after = tonumber(ARGV[2])
local ids = {}
if after > first then ids = call('LRANGE', KEYS[2], first - trimmed, after - trimmed - 1) end
return { trimmed, trimmed + call('LLEN', KEYS[2]), ids }
