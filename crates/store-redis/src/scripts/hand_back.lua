-- Gives claimed tasks back unfinished, without spending an attempt.
-- KEYS: partition, then per item: task
-- ARGV: common {actor, node, reason}, then per item {id, token}
-- Returns: {packed {now, outbox id, items {status, version} | why refused}, packed events}
if first_answer then return repeat_answer() end

local function hand_back(task, item)
  if not task then return 'missing' end
  local h = task.h
  if not may(task) then
    refuse_fenced()
    return 'illegal'
  end
  if h[F_TOKEN] ~= item[2] then
    refuse_fenced()
    return 'fenced'
  end
  if h[F_STOP] == T_CANCEL then
    obey_stop(task)
  else
    local run_ms = now - h[F_CLAIMED]
    leave_run(task)
    h[F_ATTEMPT] = h[F_ATTEMPT] - 1
    wait_until(task, now)
    step(task, S_PENDING, 'handed back', 0, run_ms)
  end
  return { h[F_STATUS], h[F_VERSION] }
end

local items = {}
for i = 2, #ARGV do
  local item = unpack_one(ARGV[i])
  items[#items + 1] = hand_back(load(KEYS[K_ITEMS + i - 2], item[1]), item)
end
return commit(items)
