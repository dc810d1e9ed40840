-- Reads the counters and the headers of all tasks of a partition, in one step; writes nothing.
-- KEYS: meta, list of all, counters, then per item: task
-- ARGV: how many were trimmed off the list, how long it is
-- Returns: {counters (field, count, …), per status and type that stands: '<type>|<status>', tasks}; {} where the list changed
local call = redis.call
if (call('HGET', KEYS[1], 'trimmed') or '0') ~= ARGV[1] or tostring(call('LLEN', KEYS[2])) ~= ARGV[2] then return {} end

local sums, flat = {}, {}
for i = 4, #KEYS do
  local packed = call('HGET', KEYS[i], 'h')
  if packed then
    local h = cmsgpack.unpack(packed)
    local field = h[F_TYPE] .. '|' .. h[F_STATUS]
    sums[field] = (sums[field] or 0) + 1
  end
end
for field, tasks in pairs(sums) do flat[#flat + 1], flat[#flat + 2] = field, tostring(tasks) end
return { call('HGETALL', KEYS[3]), flat }
