-- Takes removed tasks off the head of the list of all tasks; positions in it stay absolute.
-- KEYS: partition, then per item: task
-- ARGV: common {actor, node, reason, trimmed before}, then per item: id
-- Returns: {packed {now, '', {how many}}, ''}
if first_answer then return repeat_answer() end

local trimmed = tonumber(call('HGET', KEYS[K_META], 'trimmed') or 0)
local count = 0
if trimmed == common[4] then
  for i = 2, #ARGV do
    if call('EXISTS', KEYS[K_ITEMS + i - 2]) == 1 then break end
    count = count + 1
  end
end
if count > 0 then
  call('LTRIM', KEYS[K_ALL], count, -1)
  call('HINCRBY', KEYS[K_META], 'trimmed', count)
end
return commit({ count })
