-- Compares the live tasks of schedules with their records and indices, and mends what differs (I9).
-- KEYS: partition, then per live task: task, queue, turns, heads
-- ARGV: common {actor, node, reason}, then per live task {schedule, id}
-- Returns: {packed {now, '', items how many were mended, per schedule}, ''}
if first_answer then return repeat_answer() end

local STRIDE = 4
local given, schedules = {}, {}
for i = 2, #ARGV do
  local item = unpack_one(ARGV[i])
  if not given[item[1]] then
    given[item[1]] = {}
    schedules[#schedules + 1] = item[1]
  end
  given[item[1]][item[2]] = K_ITEMS + (i - 2) * STRIDE
end

local function has_ended(task, schedule)
  if not task or task.h[F_SCHEDULE] ~= schedule then return true end
  local status = task.h[F_STATUS]
  return status == S_SUCCESS or status == S_DEAD or status == S_CANCELLED
end

-- Whether a task that should wait for its turn runs, or stands in an index.
local function goes(task, at)
  local h, id = task.h, member(task)
  if h[F_STATUS] == S_RUNNING then return true end
  local queue = queue_at(at + 1, h[F_POOL], h[F_TIER], h[F_TYPE])
  return call('ZSCORE', KEYS[K_DUE], id) or call('ZSCORE', KEYS[K_DISPATCHED], id)
    or (queue and call('ZSCORE', queue.ids, id))
end

local function mend(schedule)
  local live, keys, kept, mended, running = live_of(schedule), given[schedule], {}, 0, false
  for _, entry in ipairs(live.list) do
    local id = string.sub(entry[1], 1, 16)
    local at = keys[id]
    local task = at and load(KEYS[at], id)
    if at and has_ended(task, schedule) then
      mended = mended + 1
    else
      if at and entry[2] == 1 and goes(task, at) then
        entry[2] = 0
        mended = mended + 1
      end
      running = running or entry[2] == 0
      kept[#kept + 1] = entry
    end
  end
  -- Where only blocked ones are left, commit() lets the first go.
  if #kept > 0 and not running and mended == 0 then mended = 1 end
  if mended > 0 then live.list, live.changed = kept, true end
  return mended
end

local items = {}
for _, schedule in ipairs(schedules) do items[#items + 1] = mend(schedule) end
return commit(items)
