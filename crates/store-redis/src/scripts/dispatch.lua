-- Takes ready tasks of one pool and tier out of their queues, by turns of the types, or by age alone.
-- KEYS: partition, then turns, heads, then per type: queue
-- ARGV: common {actor, node, reason, limit, oldest}, then per type: its name
-- Returns: {packed {now, '', {tasks {member, type, due}, types, left}}, ''}
if first_answer then return repeat_answer() end

local QUANTUM = 16
local turns, heads = KEYS[K_ITEMS], KEYS[K_ITEMS + 1]
local limit, oldest = common[4], common[5] == 1
local queue_of = {}
for i = 2, #ARGV do
  local key = KEYS[K_ITEMS + i]
  if string.sub(key, -#ARGV[i] - 1) == ':' .. ARGV[i] then queue_of[ARGV[i]] = key end
end

local taken, deadline = {}, now + DISPATCH_MS
local by = oldest and heads or turns

-- The first type in order whose queue the caller named.
local function next_type()
  for _, task_type in ipairs(call('ZRANGE', by, 0, BATCH_MAX - 1)) do
    if queue_of[task_type] then return task_type end
  end
  return nil
end

local function take(task_type, most)
  local key = queue_of[task_type]
  local found = call('ZRANGE', key, 0, most - 1, 'WITHSCORES')
  local ids, leases = {}, {}
  for i = 1, #found, 2 do
    ids[#ids + 1] = found[i]
    leases[#leases + 1], leases[#leases + 2] = deadline, found[i]
    taken[#taken + 1] = { found[i], task_type, tonumber(found[i + 1]) }
  end
  if #ids > 0 then
    call('ZREM', key, unpack(ids))
    call('ZADD', KEYS[K_DISPATCHED], unpack(leases))
    call('ZINCRBY', turns, #ids, task_type)
  end
  settle({ ids = key, turns = turns, heads = heads, task_type = task_type })
end

while #taken < limit do
  local task_type = next_type()
  if not task_type then break end
  take(task_type, math.min(limit - #taken, oldest and 1 or QUANTUM))
end

local types, left = call('ZRANGE', turns, 0, BATCH_MAX - 1), 0
for _, task_type in ipairs(types) do
  if queue_of[task_type] then left = left + call('ZCARD', queue_of[task_type]) else left = left + 1 end
end
local items = { taken, types, left }
if #taken > 0 then call('SET', KEYS[K_NONCE], pack({ now, '', items }), 'PX', NONCE_MS) end
keep_meta()
return answer(items, '', '')
