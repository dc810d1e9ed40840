-- Keeps how many rows a batch has in all and what follows it. The first word stands.
-- KEYS: partition, sealed batches, those that something is still to follow, batches that may be forgotten
-- ARGV: common {actor, node, reason}, batch, packed seal, 1 where something follows
-- Returns: {packed {now, '', {packed seal, task that followed}}, ''}
if first_answer then return repeat_answer() end

local SEALED, OPEN, LEFT = KEYS[K_ITEMS], KEYS[K_ITEMS + 1], KEYS[K_ITEMS + 2]
local batch, seal = ARGV[2], ARGV[3]
local kept = call('HMGET', SEALED, batch, batch .. 'f')
if not kept[1] then
  call('HSET', SEALED, batch, seal)
  if ARGV[4] == '1' then call('ZADD', OPEN, 0, batch) end
  call('ZADD', LEFT, 'NX', now, batch)
end
return commit({ kept[1] or seal, kept[2] or '' })
