-- Ends runs well.
-- KEYS: partition, then per item: task
-- ARGV: common {actor, node, reason}, then per item {id, token, result, output}
-- Returns: {packed {now, outbox id, items {status, version} | why refused}, packed events}
if first_answer then return repeat_answer() end

local function complete(task, item)
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
  local run_ms = now - h[F_CLAIMED]
  h[F_CLASS], h[F_CODE] = 0, ''
  leave_run(task)
  finish(task)
  task.fields = {}
  if item[3] ~= '' then task.fields = { 'r', item[3] } end
  if item[4] ~= '' then
    task.fields[#task.fields + 1] = 'g' .. h[F_ATTEMPT]
    task.fields[#task.fields + 1] = item[4]
  end
  step(task, S_SUCCESS, '', 0, run_ms)
  return { S_SUCCESS, h[F_VERSION] }
end

local items = {}
for i = 2, #ARGV do
  local item = unpack_one(ARGV[i])
  items[#items + 1] = complete(load(KEYS[K_ITEMS + i - 2], item[1]), item)
end
return commit(items)
