-- Puts dispatched tasks that nobody can start back into their queues, with their old place in line.
-- KEYS: partition, then per item: task, queue, turns, heads
-- ARGV: common {actor, node, reason}, then per item: id
-- Returns: {packed {now, '', items {id}}, ''}
if first_answer then return repeat_answer() end

local STRIDE = 4
local items, adds, seen = {}, {}, {}
for i = 2, #ARGV do
  local at = K_ITEMS + (i - 2) * STRIDE
  local task = load(KEYS[at], ARGV[i])
  if task and not seen[task] and call('ZSCORE', KEYS[K_DISPATCHED], member(task)) then
    local h = task.h
    local queue = queue_at(at + 1, h[F_POOL], h[F_TIER], h[F_TYPE])
    if queue then
      seen[task] = true
      adds[#adds + 1] = { queue.ids, h[F_DUE], member(task) }
      items[#items + 1] = ARGV[i]
    end
  end
end
for _, add in ipairs(adds) do
  call('ZREM', KEYS[K_DISPATCHED], add[3])
  call('ZADD', add[1], add[2], add[3])
end
return commit(items)
