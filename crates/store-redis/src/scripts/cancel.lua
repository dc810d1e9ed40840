-- Stops tasks: at once where they wait, after their run was ended where they run.
-- KEYS: partition, then per item: task, queue, turns, heads
-- ARGV: common {actor, node, reason}, then per item: id
-- Returns: {packed {now, outbox id, items {status, version} | why refused}, packed events}
if first_answer then return repeat_answer() end

local STRIDE = 4
local function cancel(task, at)
  if not task then return 'missing' end
  if not may(task) then return 'illegal' end
  local h = task.h
  if h[F_STATUS] == S_RUNNING then
    h[F_STOP] = T_CANCEL
    step(task, S_RUNNING, 'cancel asked')
  else
    task.queue = queue_at(at + 1, h[F_POOL], h[F_TIER], h[F_TYPE])
    if not task.queue then return 'moved' end
    task.leave = 'waiting'
    finish(task)
    step(task, S_CANCELLED, 'cancelled')
  end
  return { h[F_STATUS], h[F_VERSION] }
end

local items = {}
for i = 2, #ARGV do
  local at = K_ITEMS + (i - 2) * STRIDE
  items[#items + 1] = cancel(load(KEYS[at], ARGV[i]), at)
end
return commit(items)
