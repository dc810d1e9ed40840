-- How a submission becomes a task: exactly one (I1). A piece of the verbs that admit; each item has six keys (task,
-- idempotency key, queue, turns, heads, batch list) and {id, header, payload, has_key, at, delay_ms, expire_ms, key_ms,
-- rejected, direct}.

local CREATED, EXISTING, CONFLICT = 1, 2, 3
local NO_HINT, READY, WORK = 0, 1, 2
local STRIDE = 6
local keys_written, lists, fresh, created, sizes, emptied, idle = {}, {}, {}, {}, {}, {}, {}

local function outbox_full(most)
  return call('XLEN', KEYS[K_OUTBOX]) >= most
end

local OUTBOX_FULL = 'GFFULL the outbox is full: the events stream is away or too slow'

-- The task that has this key already, or nil.
local function holder(key)
  if fresh[key] then return fresh[key] end
  local kept = call('GET', key)
  if not kept then return nil end
  local id, sha, until_ms, status = struct.unpack('>c16c32I8B', kept)
  -- The key of a removed task ends by the store's clock; its TTL only clears up behind it.
  if status > 0 and until_ms <= now then return nil end
  return { id = id, sha = sha, status = status }
end

-- The task that a submission is already, by its key or by its very id, or nil.
local function known(item, at)
  local kept = item[4] == 1 and holder(KEYS[at + 1])
  if kept then return kept end
  local same = load(KEYS[at], item[1])
  return same and { id = item[1], sha = same.h[F_SHA], status = same.h[F_STATUS] }
end

-- How many tasks a queue will have after what was staged.
local function size_of(queue)
  if not sizes[queue.ids] then sizes[queue.ids] = call('ZCARD', queue.ids) end
  return sizes[queue.ids]
end

-- A task leaves its queue before commit() takes it out; a type whose queue so becomes empty has no turn any more.
local function shrink(queue)
  sizes[queue.ids] = size_of(queue) - 1
  if sizes[queue.ids] == 0 and call('ZSCORE', queue.turns, queue.task_type) then
    emptied[queue.turns] = emptied[queue.turns] or {}
    emptied[queue.turns][queue.task_type] = true
  end
end

-- Whether no type had a turn when this call first looked.
local function was_idle(queue)
  if idle[queue.turns] == nil then
    local types = call('ZCARD', queue.turns)
    for _ in pairs(emptied[queue.turns] or {}) do types = types - 1 end
    idle[queue.turns] = types == 0
  end
  return idle[queue.turns]
end

local function place(task, item, at, blocked)
  local h = task.h
  local due = now + item[6]
  if item[5] > 0 then due = math.max(item[5], now) end
  h[F_DUE] = due
  if blocked then return NO_HINT end
  if due > now then
    wait_until(task, due)
    return NO_HINT
  end
  local queue = queue_at(at + 2, h[F_POOL], h[F_TIER], h[F_TYPE])
  local empty, alone = size_of(queue) == 0, was_idle(queue)
  if item[10] == 1 and alone and empty and not paused(h[F_TYPE]) then
    task.enter, task.score = 'dispatched', now + DISPATCH_MS
    return WORK
  end
  task.enter, task.score, task.queue = 'queue', due, queue
  sizes[queue.ids] = sizes[queue.ids] + 1
  return empty and READY or NO_HINT
end

-- Stages a new task; a blocked one stands in no index. `planned` is its planned instant, where the header has none.
local function create(item, at, blocked, planned)
  local id = item[1]
  local h = unpack_one(item[2])
  local task = { key = KEYS[at], id = id, h = h, line = '', fields = { 'p', item[3] } }
  loaded[task.key] = task
  created[#created + 1] = task
  h[F_CREATED] = now
  if planned then h[F_PLANNED] = planned end
  if item[7] > 0 then h[F_EXPIRE] = now + item[7] end
  h[F_KEY_UNTIL] = now + item[8]
  if h[F_BATCH] ~= '' then lists[#lists + 1] = { KEYS[at + 5], id } end
  local hint, status = NO_HINT, S_PENDING
  if item[9] ~= '' then
    status = S_DEAD
    h[F_DUE], h[F_CLASS], h[F_CODE] = now, C_DETERMINISTIC, 'invalid_input'
    task.fields[3], task.fields[4] = 'e', item[9]
    finish(task)
    step(task, S_DEAD, 'invalid input')
  else
    hint = place(task, item, at, blocked)
    step(task, S_PENDING, '')
  end
  if item[4] == 1 then
    local kept = { id = id, sha = h[F_SHA], status = status }
    fresh[KEYS[at + 1]] = kept
    keys_written[#keys_written + 1] = { KEYS[at + 1], struct.pack('>c16c32I8B', id, h[F_SHA], h[F_KEY_UNTIL], 0) }
  end
  return task, hint
end

-- Writes what stands beside the new tasks; commit() writes the tasks.
local function keep_created()
  for _, entry in ipairs(keys_written) do call('SET', entry[1], entry[2]) end
  for _, entry in ipairs(lists) do
    call('RPUSH', entry[1], entry[2])
    call('PEXPIRE', entry[1], BATCH_LIST_MS)
  end
  for _, task in ipairs(created) do call('RPUSH', KEYS[K_ALL], task.id) end
end
