-- Confirms that runs were ended because somebody asked: cancelled, or pending after a reset.
-- KEYS: partition, then per item: task
-- ARGV: common {actor, node, reason}, then per item {id, token}
-- Returns: {packed {now, outbox id, items {status, version} | why refused}, packed events}
if first_answer then return repeat_answer() end

local function stopped(task, item)
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
  if not obey_stop(task) then return 'not_asked' end
  return { h[F_STATUS], h[F_VERSION] }
end

local items = {}
for i = 2, #ARGV do
  local item = unpack_one(ARGV[i])
  items[#items + 1] = stopped(load(KEYS[K_ITEMS + i - 2], item[1]), item)
end
return commit(items)
