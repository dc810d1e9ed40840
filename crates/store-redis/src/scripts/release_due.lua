-- Makes due tasks ready, and dispatched tasks whose hint grew old.
-- KEYS: partition, then per item: task, queue, turns, heads
-- ARGV: common {actor, node, reason}, then per item: id
-- Returns: {packed {now, '', items {pool, tier, type, was empty} | why not}, ''}
if first_answer then return repeat_answer() end

local STRIDE = 4
local items, moves, empty = {}, {}, {}

local function release(task, at)
  if not task then return 'missing' end
  local h = task.h
  local from = KEYS[K_DUE]
  local score = call('ZSCORE', from, member(task))
  if not score then
    from = KEYS[K_DISPATCHED]
    score = call('ZSCORE', from, member(task))
  end
  if not score then return 'moved' end
  if tonumber(score) > now then return 'not_due' end
  local queue = queue_at(at + 1, h[F_POOL], h[F_TIER], h[F_TYPE])
  if not queue then return 'moved' end
  if empty[queue.ids] == nil then empty[queue.ids] = call('ZCARD', queue.ids) == 0 end
  moves[#moves + 1] = { from, queue.ids, h[F_DUE], member(task) }
  return { h[F_POOL], h[F_TIER], h[F_TYPE], empty[queue.ids] and 1 or 0 }
end

for i = 2, #ARGV do
  items[#items + 1] = release(load(KEYS[K_ITEMS + (i - 2) * STRIDE], ARGV[i]), K_ITEMS + (i - 2) * STRIDE)
end
for _, move in ipairs(moves) do
  call('ZREM', move[1], move[4])
  call('ZADD', move[2], move[3], move[4])
end
return commit(items)
