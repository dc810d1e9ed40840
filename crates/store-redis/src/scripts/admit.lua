-- Accepts submissions: exactly one task each (I1).
-- KEYS: partition, then per item: task, idempotency key, queue, turns, heads, batch list
-- ARGV: common {actor, node, reason, outbox_max}, then per item {id, header, payload, has_key, at, delay_ms, expire_ms, key_ms, rejected, direct}
-- Returns: {packed {now, outbox id, items {kind, id, status, hint}}, packed events}; error GFFULL where the outbox is full
if first_answer then return repeat_answer() end
if call('XLEN', KEYS[K_OUTBOX]) >= common[4] then
  return redis.error_reply('GFFULL the outbox is full: the events stream is away or too slow')
end

local CREATED, EXISTING, CONFLICT = 1, 2, 3
local NO_HINT, READY, WORK = 0, 1, 2
local STRIDE = 6
local keys_written, lists, fresh, empty, idle = {}, {}, {}, {}, {}

local function known(id, sha, kept)
  local kind = kept.sha == sha and EXISTING or CONFLICT
  return { kind, kept.id, kept.status, NO_HINT }
end

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

local function place(task, item, at)
  local h = task.h
  local due = now + item[6]
  if item[5] > 0 then due = math.max(item[5], now) end
  h[F_DUE] = due
  if due > now then
    wait_until(task, due)
    return NO_HINT
  end
  local queue = queue_at(at + 2, h[F_POOL], h[F_TIER], h[F_TYPE])
  if empty[queue.ids] == nil then
    empty[queue.ids] = call('ZCARD', queue.ids) == 0
    if idle[queue.turns] == nil then idle[queue.turns] = call('ZCARD', queue.turns) == 0 end
  end
  if item[10] == 1 and idle[queue.turns] and empty[queue.ids] and not paused(h[F_TYPE]) then
    task.enter, task.score = 'dispatched', now + DISPATCH_MS
    return WORK
  end
  task.enter, task.score, task.queue = 'queue', due, queue
  local hint = empty[queue.ids] and READY or NO_HINT
  empty[queue.ids] = false
  return hint
end

local function create(item, at)
  local id = item[1]
  local h = unpack_one(item[2])
  local task = { key = KEYS[at], id = id, h = h, line = '', fields = { 'p', item[3] } }
  loaded[task.key] = task
  h[F_CREATED] = now
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
    hint = place(task, item, at)
    step(task, S_PENDING, '')
  end
  if item[4] == 1 then
    local kept = { id = id, sha = h[F_SHA], status = status }
    fresh[KEYS[at + 1]] = kept
    keys_written[#keys_written + 1] = { KEYS[at + 1], struct.pack('>c16c32I8B', id, h[F_SHA], h[F_KEY_UNTIL], 0) }
  end
  return { CREATED, id, status, hint }
end

local items = {}
for i = 2, #ARGV do
  local at = K_ITEMS + (i - 2) * STRIDE
  local item = unpack_one(ARGV[i])
  local sha = unpack_one(item[2])[F_SHA]
  local kept = item[4] == 1 and holder(KEYS[at + 1])
  local same = load(KEYS[at], item[1])
  if kept then
    items[#items + 1] = known(item[1], sha, kept)
  elseif same then
    items[#items + 1] = known(item[1], sha, { id = item[1], sha = same.h[F_SHA], status = same.h[F_STATUS] })
  else
    items[#items + 1] = create(item, at)
  end
end
for _, entry in ipairs(keys_written) do call('SET', entry[1], entry[2]) end
for _, entry in ipairs(lists) do
  call('RPUSH', entry[1], entry[2])
  call('PEXPIRE', entry[1], BATCH_LIST_MS)
end
for _, task in ipairs(staged) do call('RPUSH', KEYS[K_ALL], task.id) end
return commit(items)
