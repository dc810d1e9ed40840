-- Compares tasks with their indices and mends what differs (I9).
-- KEYS: partition, then per item: task, queue, turns, heads
-- ARGV: common {actor, node, reason}, then per item: member (id and batch)
-- Returns: {packed {now, '', items 'right' | 'added' | 'removed' | 'moved'}, ''}
if first_answer then return repeat_answer() end

local STRIDE = 4
local INDICES = { KEYS[K_DUE], KEYS[K_DISPATCHED], KEYS[K_LEASES], KEYS[K_DEAD] }
local items, adds, drops = {}, {}, {}

local function drop_from(id, keep, queue)
  local dropped = false
  for _, key in ipairs(INDICES) do
    if not keep[key] and call('ZSCORE', key, id) then
      drops[#drops + 1] = { key, id }
      dropped = true
    end
  end
  if queue and not keep[queue.ids] and call('ZSCORE', queue.ids, id) then
    drops[#drops + 1] = { queue.ids, id }
    dropped = true
  end
  return dropped
end

-- Whether it waits for its turn among the tasks of its schedule: then it stands in no index.
local function is_blocked(task)
  local entry = live_entry(task)
  return entry and entry[2] == 1
end

local function mend(task, id, at)
  if not task then return drop_from(id, {}, nil) and 'removed' or 'right' end
  local h = task.h
  local queue = queue_at(at + 1, h[F_POOL], h[F_TIER], h[F_TYPE])
  if not queue then return 'moved' end
  local status = h[F_STATUS]
  if status == S_RUNNING then
    local dropped = drop_from(id, { [KEYS[K_LEASES]] = true }, queue)
    if call('ZSCORE', KEYS[K_LEASES], id) then return dropped and 'removed' or 'right' end
    adds[#adds + 1] = { KEYS[K_LEASES], now, id }
    return 'added'
  elseif status == S_DEAD then
    local dropped = drop_from(id, { [KEYS[K_DEAD]] = true }, queue)
    if call('ZSCORE', KEYS[K_DEAD], id) then return dropped and 'removed' or 'right' end
    adds[#adds + 1] = { KEYS[K_DEAD], h[F_FINISHED], id }
    return 'added'
  elseif status == S_PENDING or status == S_RETRYING then
    local found = nil
    for _, key in ipairs({ KEYS[K_DISPATCHED], queue.ids, KEYS[K_DUE] }) do
      if not found and call('ZSCORE', key, id) then found = key end
    end
    local dropped = drop_from(id, { [found or ''] = true }, queue)
    if found or is_blocked(task) then return dropped and 'removed' or 'right' end
    adds[#adds + 1] = { KEYS[K_DUE], h[F_DUE], id }
    rejoin_live(task)
    return 'added'
  end
  return drop_from(id, {}, queue) and 'removed' or 'right'
end

for i = 2, #ARGV do
  local at = K_ITEMS + (i - 2) * STRIDE
  items[#items + 1] = mend(load(KEYS[at], string.sub(ARGV[i], 1, 16)), ARGV[i], at)
end
for _, drop in ipairs(drops) do call('ZREM', drop[1], drop[2]) end
for _, add in ipairs(adds) do call('ZADD', add[1], add[2], add[3]) end
return commit(items)
