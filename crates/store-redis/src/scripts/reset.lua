-- Makes tasks due now; a run is ended first.
-- KEYS: partition, then per item: task, queue, turns, heads
-- ARGV: common {actor, node, reason, max_retry or -1}, then per item: id
-- Returns: {packed {now, outbox id, items {status, version} | why refused}, packed events}
if first_answer then return repeat_answer() end

local STRIDE = 4
local function reset(task, at)
  if not task then return 'missing' end
  if not may(task) then return 'illegal' end
  local h = task.h
  if h[F_STATUS] == S_RUNNING then
    h[F_STOP] = T_RESET
  else
    task.queue = queue_at(at + 1, h[F_POOL], h[F_TIER], h[F_TYPE])
    if not task.queue then return 'moved' end
    task.leave = 'waiting'
  end
  if common[4] >= 0 then h[F_MAX_RETRY] = common[4] end
  if h[F_STATUS] == S_RUNNING then
    step(task, S_RUNNING, 'reset asked')
  else
    wait_until(task, now)
    step(task, S_PENDING, 'reset by hand')
  end
  return { h[F_STATUS], h[F_VERSION] }
end

local items = {}
for i = 2, #ARGV do
  local at = K_ITEMS + (i - 2) * STRIDE
  items[#items + 1] = reset(load(KEYS[at], ARGV[i]), at)
end
return commit(items)
