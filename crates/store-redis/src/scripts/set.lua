-- Changes fields, never the status.
-- KEYS: partition, then per item: task, queue, turns, heads
-- ARGV: common {actor, node, reason, max_retry or -1, next_run_time or -1, run_timeout_ms or -1}, then per item: id
-- Returns: {packed {now, outbox id, items {status, version} | why refused}, packed events}
if first_answer then return repeat_answer() end

local STRIDE = 4
local function set(task, at)
  if not task then return 'missing' end
  if not may(task) then return 'illegal' end
  local h = task.h
  local waits = h[F_STATUS] == S_PENDING or h[F_STATUS] == S_RETRYING
  if waits and common[5] >= 0 then
    task.queue = queue_at(at + 1, h[F_POOL], h[F_TIER], h[F_TYPE])
    if not task.queue then return 'moved' end
    task.leave = 'waiting'
    wait_until(task, common[5])
  end
  if common[4] >= 0 then h[F_MAX_RETRY] = common[4] end
  if common[6] >= 0 then h[F_RUN_TIMEOUT] = common[6] end
  step(task, h[F_STATUS], 'set by hand')
  return { h[F_STATUS], h[F_VERSION] }
end

local items = {}
for i = 2, #ARGV do
  local at = K_ITEMS + (i - 2) * STRIDE
  items[#items + 1] = set(load(KEYS[at], ARGV[i]), at)
end
return commit(items)
