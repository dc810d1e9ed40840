-- The recorder's write: statistics and the position of the stream in one step; a repeat counts nothing.
-- KEYS: position, statistics, most attempts, run times, then per task: task
-- ARGV: epoch, position, then per event {task number, version, retention-safe field prefix, to, wait_ms, run_ms, attempt, day, type, bucket of a successful run or -1}
-- Returns: {fresh, repeated, position}
local call = redis.call
local kept = call('HMGET', KEYS[1], 'epoch', 'position')
local position = tonumber(ARGV[2])
if kept[1] == ARGV[1] and tonumber(kept[2] or 0) >= position then
  return { 0, #ARGV - 2, tonumber(kept[2]) }
end

-- What is recorded of a task: the last version without a hole, then those beyond it.
local seen, changed, sums = {}, {}, {}
local function seen_of(number)
  local known = seen[number]
  if known then return known end
  local text = call('HGET', KEYS[4 + number], 'n')
  known = { last = 0, beyond = {} }
  if text then
    local first = true
    for part in string.gmatch(text, '%d+') do
      if first then known.last = tonumber(part) else known.beyond[tonumber(part)] = true end
      first = false
    end
  elseif call('EXISTS', KEYS[4 + number]) == 0 then
    known.gone = true
  end
  seen[number] = known
  return known
end

local function mark(known, version)
  if known.gone or version <= known.last or known.beyond[version] then return false end
  known.beyond[version] = true
  while known.beyond[known.last + 1] do
    known.last = known.last + 1
    known.beyond[known.last] = nil
  end
  return true
end

local function add(field, by)
  if by > 0 then sums[field] = (sums[field] or 0) + by end
end

local most = {}
local function keep_most(day, task_type, attempt)
  local known = most[task_type] or {}
  most[task_type] = known
  known[day] = math.max(known[day] or 0, attempt)
end

-- How long successful runs took: runs by bucket, of a type and day.
local runs = {}
local function keep_run(day, task_type, bucket)
  if bucket < 0 then return end
  local known = runs[task_type] or {}
  runs[task_type] = known
  known[day] = known[day] or {}
  known[day][bucket] = (known[day][bucket] or 0) + 1
end

local fresh, repeated = 0, 0
for i = 3, #ARGV do
  local event = cmsgpack.unpack(ARGV[i])
  if mark(seen_of(event[1]), event[2]) then
    fresh = fresh + 1
    changed[event[1]] = true
    add(event[3] .. event[4], 1)
    add(event[3] .. 'wait_ms', event[5])
    add(event[3] .. 'run_ms', event[6])
    keep_most(event[8], event[9], event[7])
    keep_run(event[8], event[9], event[10])
  else
    repeated = repeated + 1
  end
end
for number in pairs(changed) do
  local known = seen[number]
  local text = tostring(known.last)
  for version in pairs(known.beyond) do text = text .. ',' .. version end
  call('HSET', KEYS[4 + number], 'n', text)
end
-- The most attempts of a day; of each type the newest two days are kept.
for task_type, days in pairs(most) do
  for day, attempts in pairs(days) do
    local field = task_type .. '|' .. day
    local before = call('HGET', KEYS[3], field)
    if attempts > tonumber(before or 0) then call('HSET', KEYS[3], field, attempts) end
    if not before then call('HDEL', KEYS[3], task_type .. '|' .. (day - 2), task_type .. '|' .. (day - 3)) end
  end
end
for task_type, days in pairs(runs) do
  for day, fresh_runs in pairs(days) do
    local field = task_type .. '|' .. day
    local kept_runs = call('HGET', KEYS[4], field)
    local flat = kept_runs and cmsgpack.unpack(kept_runs) or {}
    for i = 1, #flat, 2 do fresh_runs[flat[i]] = (fresh_runs[flat[i]] or 0) + flat[i + 1] end
    flat = {}
    for bucket, times in pairs(fresh_runs) do flat[#flat + 1], flat[#flat + 2] = bucket, times end
    call('HSET', KEYS[4], field, cmsgpack.pack(flat))
    if not kept_runs then call('HDEL', KEYS[4], task_type .. '|' .. (day - 2), task_type .. '|' .. (day - 3)) end
  end
end
for field, by in pairs(sums) do call('HINCRBY', KEYS[2], field, by) end
call('HSET', KEYS[1], 'epoch', ARGV[1], 'position', ARGV[2])
return { fresh, repeated, position }
