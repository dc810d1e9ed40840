-- Removes records that were written long ago.
-- KEYS: partition, plan table, then per item: records, ranges
-- ARGV: common {actor, node, reason, age_ms}, then per item: name
-- Returns: {packed {now, '', items {removed, 1 where old ones are left}}, ''}
-- Needs: plan
if first_answer then return repeat_answer() end

local LOOK_MAX = 2 * BATCH_MAX
local until_ms, left = now - common[4], BATCH_MAX

local function retain(name, records, ranges)
  local removed, more, oldest = 0, 0, nil
  for _, packed in ipairs(call('ZRANGE', records, 0, LOOK_MAX - 1)) do
    local record = unpack_one(packed)
    if record[2] > until_ms then
      oldest = math.min(oldest or record[2], record[2])
    elseif left > 0 then
      call('ZREM', records, packed)
      if record[8] then call('ZREM', ranges, string.format('%.0f:%.0f', record[1], record[3])) end
      removed, left = removed + 1, left - 1
    else
      oldest, more = math.min(oldest or record[2], record[2]), 1
    end
  end
  local head = call('ZRANGE', records, 0, 0)
  if #head == 0 then
    call('ZREM', OLDEST, name)
  else
    call('ZADD', OLDEST, oldest or unpack_one(head[1])[2], name)
  end
  return { removed, more }
end

local items = {}
for i = 2, #ARGV do
  local at = FIRST + (i - 2) * 2
  items[#items + 1] = retain(ARGV[i], KEYS[at], KEYS[at + 1])
end
return commit(items)
