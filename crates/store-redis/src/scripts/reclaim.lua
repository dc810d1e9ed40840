-- Takes back tasks whose lease expired: timeout, and at once pending or dead (I4).
-- KEYS: partition, then per item: task
-- ARGV: common {actor, node, reason, lease_ms, run id of the server}, then per item: id
-- Returns: {packed {now, outbox id, items {id, {status, version} | why refused}}, packed events}
if first_answer then return repeat_answer() end

local DAY_MS = 86400000
local lease_ms, run_id = common[4], common[5]
if lease ~= lease_ms then
  call('HSET', KEYS[K_META], 'lease', lease_ms)
  if before > 0 and now - before > lease_ms / 2 then guard = now + lease_ms end
end
-- Another server answers: a restart or a failover may have lost the newest heartbeats.
if call('HGET', KEYS[K_META], 'run_id') ~= run_id then
  guard = now + lease_ms
  call('HSET', KEYS[K_META], 'run_id', run_id)
end

local function reclaim(task)
  if not task then return 'missing' end
  if not may(task) then return 'illegal' end
  local ends = call('ZSCORE', KEYS[K_LEASES], member(task))
  if now < guard or not ends or tonumber(ends) >= now then return 'leased' end
  local h = task.h
  if now - h[F_LOSS_SINCE] > DAY_MS then h[F_LOSSES], h[F_LOSS_SINCE] = 0, now end
  h[F_LOSSES] = h[F_LOSSES] + 1
  h[F_CLASS], h[F_CODE] = C_LOST, 'lease_expired'
  local stop, run_ms = h[F_STOP], now - h[F_CLAIMED]
  leave_run(task)
  step(task, S_TIMEOUT, 'lease expired', 0, run_ms)
  if stop == T_CANCEL then
    finish(task)
    step(task, S_CANCELLED, 'cancel asked')
  elseif h[F_LOSSES] >= h[F_MAX_LOST] then
    h[F_CODE] = 'poison'
    finish(task)
    step(task, S_DEAD, 'poison')
  else
    wait_until(task, now)
    step(task, S_PENDING, 'lease expired')
  end
  return { h[F_STATUS], h[F_VERSION] }
end

local items = {}
for i = 2, #ARGV do
  items[#items + 1] = { ARGV[i], reclaim(load(KEYS[K_ITEMS + i - 2], ARGV[i])) }
end
return commit(items)
