-- Removes what is kept of batches whose tasks have all left; the others are looked at again later.
-- KEYS: partition, sealed batches, batches that may be forgotten
-- ARGV: common {actor, node, reason}, then per item {batch, 1 where no partition has a task of it}
-- Returns: {packed {now, '', {}}, ''}
if first_answer then return repeat_answer() end

local SEALED, LEFT = KEYS[K_ITEMS], KEYS[K_ITEMS + 1]
for i = 2, #ARGV do
  local item = unpack_one(ARGV[i])
  local batch = item[1]
  if item[2] == 1 and tonumber(call('HGET', KEYS[K_BATCHES], batch .. '|0') or 0) <= 0 then
    for status = 0, S_CANCELLED do call('HDEL', KEYS[K_BATCHES], batch .. '|' .. status) end
    call('HDEL', SEALED, batch, batch .. 'f')
    call('ZREM', LEFT, batch)
  else
    call('ZADD', LEFT, now, batch)
  end
end
return commit({})
