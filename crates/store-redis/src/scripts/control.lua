-- Writes the partition's copy of a type's control state, and takes its queues out of turn or back in.
-- KEYS: partition, then per tier: queue, turns, heads
-- ARGV: common {actor, node, reason, type, 'paused' | 'active'}
-- Returns: {packed {now, '', {tiers that have tasks waiting}}, ''}
if first_answer then return repeat_answer() end

call('HSET', KEYS[K_CONTROL], common[4], common[5])
local waiting = {}
for at = K_ITEMS, #KEYS, 3 do
  local queue = { ids = KEYS[at], turns = KEYS[at + 1], heads = KEYS[at + 2], task_type = common[4] }
  settle(queue)
  if call('ZCARD', queue.ids) > 0 then waiting[#waiting + 1] = (at - K_ITEMS) / 3 + 1 end
end
return commit(waiting)
