-- Reads tasks with every place in which they stand, in one step; writes nothing.
-- KEYS: due, dispatched, leases, dead, live tasks, then per item: task, queue, idempotency key
-- ARGV: per item packed {member (id and batch), schedule}
-- Returns: per item {header, timeline, scores in due, dispatched, leases, dead and queue, 1 where it is blocked, what its key holds}; empty strings for what is not there
local call = redis.call
local items = {}

local function is_blocked(member, schedule)
  local packed = schedule ~= '' and call('HGET', KEYS[5], schedule)
  if not packed then return '' end
  for _, entry in ipairs(cmsgpack.unpack(packed)) do
    if entry[1] == member and entry[2] == 1 then return '1' end
  end
  return ''
end

for i = 1, #ARGV do
  local at = 6 + (i - 1) * 3
  local item = cmsgpack.unpack(ARGV[i])
  local record = call('HMGET', KEYS[at], 'h', 'l')
  local seen = { record[1] or '', record[2] or '' }
  for index = 1, 4 do seen[2 + index] = call('ZSCORE', KEYS[index], item[1]) or '' end
  seen[7] = call('ZSCORE', KEYS[at + 1], item[1]) or ''
  seen[8] = is_blocked(item[1], item[2])
  seen[9] = call('GET', KEYS[at + 2]) or ''
  items[i] = seen
end
return items
