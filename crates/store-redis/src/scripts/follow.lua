-- Notes the task that followed a batch. The first word stands.
-- KEYS: partition, sealed batches, those that something is still to follow
-- ARGV: common {actor, node, reason}, batch, task
-- Returns: {packed {now, '', {task that followed, empty where the batch was never sealed}}, ''}
if first_answer then return repeat_answer() end

local SEALED, OPEN = KEYS[K_ITEMS], KEYS[K_ITEMS + 1]
local batch, task = ARGV[2], ARGV[3]
local kept = call('HMGET', SEALED, batch, batch .. 'f')
if not kept[1] then return commit({ '' }) end
if not kept[2] then call('HSET', SEALED, batch .. 'f', task) end
call('ZREM', OPEN, batch)
return commit({ kept[2] or task })
