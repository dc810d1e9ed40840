-- Runs dead or cancelled tasks again: pending, due now, counts at 0.
-- KEYS: partition, then per item: task, queue, turns, heads
-- ARGV: common {actor, node, reason, max_retry or -1}, then per item: id
-- Returns: {packed {now, outbox id, items {status, version} | why refused}, packed events}
if first_answer then return repeat_answer() end

local STRIDE = 4
local function retry(task)
  if not task then return 'missing' end
  if not may(task) then return 'illegal' end
  local h = task.h
  if h[F_STATUS] == S_DEAD then task.leave = 'dead' end
  if common[4] >= 0 then h[F_MAX_RETRY] = common[4] end
  h[F_RETRIES], h[F_LOSSES], h[F_EXPIRE], h[F_FINISHED] = 0, 0, 0, 0
  wait_until(task, now)
  rejoin_live(task)
  step(task, S_PENDING, 'retried by hand')
  return { h[F_STATUS], h[F_VERSION] }
end

local items = {}
for i = 2, #ARGV do
  items[#items + 1] = retry(load(KEYS[K_ITEMS + (i - 2) * STRIDE], ARGV[i]))
end
return commit(items)
