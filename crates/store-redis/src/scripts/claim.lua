-- Gives dispatched tasks to one executor, each under a lease with a new fencing token (I3, I4).
-- KEYS: partition, then per item: task
-- ARGV: common {actor, node, reason, executor, lease_ms}, then per item {id, effective tier, 8 random bytes}
-- Returns: {packed {now, outbox id, items {'run', header} | {'expired'} | {'refused', why}}, packed events, payloads…}

-- Payloads are read, not kept with the answer: they never change.
local function with_payloads(reply, items)
  for i, item in ipairs(items) do
    reply[2 + i] = item[1] == 'run' and (call('HGET', KEYS[K_ITEMS + i - 1], 'p') or '') or ''
  end
  return reply
end
if first_answer then return with_payloads(repeat_answer(), unpack_one(first_answer)[3]) end

local executor, lease_ms = common[4], common[5]
local micros = time[1] * 1000000 + time[2]

local function run(task, item, dispatched)
  local h = task.h
  -- The larger of the last + 1 and the clock, so that a failover that lost writes can't repeat one.
  last_token = math.max(last_token + 1, micros)
  h[F_ATTEMPT] = h[F_ATTEMPT] + 1
  h[F_TOKEN] = struct.pack('>I8', last_token) .. item[3]
  h[F_EXECUTOR], h[F_ETIER] = executor, item[2]
  h[F_READY], h[F_DISPATCHED], h[F_CLAIMED] = h[F_DUE], dispatched - DISPATCH_MS, now
  h[F_DEADLINE] = now + h[F_RUN_TIMEOUT]
  task.leave, task.enter, task.score = 'dispatched', 'lease', now + lease_ms
  step(task, S_RUNNING, '', now - h[F_DUE])
  return { 'run', pack(h) }
end

local function expire(task)
  task.h[F_CLASS], task.h[F_CODE] = C_DETERMINISTIC, 'expired'
  task.leave = 'dispatched'
  finish(task)
  step(task, S_DEAD, 'expired')
  return { 'expired' }
end

local function claim(task, item)
  if not task then return { 'refused', 'missing' } end
  local h = task.h
  if not may(task) then return { 'refused', 'illegal' } end
  if h[F_DUE] > now then return { 'refused', 'not_due' } end
  local dispatched = call('ZSCORE', KEYS[K_DISPATCHED], member(task))
  if not dispatched or task.staged then return { 'refused', 'moved' } end
  if paused(h[F_TYPE]) then return { 'refused', 'paused' } end
  if h[F_EXPIRE] > 0 and h[F_EXPIRE] < now then return expire(task) end
  return run(task, item, tonumber(dispatched))
end

local items = {}
for i = 2, #ARGV do
  local item = unpack_one(ARGV[i])
  items[#items + 1] = claim(load(KEYS[K_ITEMS + i - 2], item[1]), item)
end
return with_payloads(commit(items), items)
