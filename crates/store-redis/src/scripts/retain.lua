-- Removes terminal tasks that are old and recorded, and what the lists keep of them.
-- KEYS: partition, batches that may be forgotten, then per item: task, idempotency key
-- ARGV: common {actor, node, reason, success_ms, cancelled_ms, dead_ms, count}, then per item {id, list it stands in (a status), finished, member}
-- Returns: {packed {now, '', items 'removed' | 'gone' | why not}, ''}
if first_answer then return repeat_answer() end

local STRIDE = 2
local LEFT = KEYS[K_ITEMS]
local KEEP_MS = { [S_SUCCESS] = common[4], [S_CANCELLED] = common[5], [S_DEAD] = common[6] }
local LIST = { [S_SUCCESS] = KEYS[K_SUCCESS], [S_CANCELLED] = KEYS[K_CANCELLED] }
local items, removals, pops, blocked = {}, {}, {}, {}
local terminal = call('LLEN', KEYS[K_SUCCESS]) + call('LLEN', KEYS[K_CANCELLED]) + call('ZCARD', KEYS[K_DEAD])

-- An entry of a list that no longer says the truth: the task is gone, or ended again later.
local function stale(task, from, finished)
  return not task or (from > 0 and (task.h[F_STATUS] ~= from or task.h[F_FINISHED] ~= finished))
end

local function judge(task, from, finished)
  if stale(task, from, finished) then return 'gone' end
  local h = task.h
  local keep = KEEP_MS[h[F_STATUS]]
  if not keep then return 'illegal' end
  if h[F_FINISHED] + keep > now and terminal <= common[7] then return 'young' end
  if (call('HGET', task.key, 'n') or '0') ~= tostring(h[F_VERSION]) then return 'unrecorded' end
  terminal = terminal - 1
  return 'removed'
end

for i = 2, #ARGV do
  local at = K_ITEMS + 1 + (i - 2) * STRIDE
  local item = unpack_one(ARGV[i])
  local from = item[2]
  local said = blocked[from] and 'young' or nil
  local task = load(KEYS[at], item[1])
  said = said or judge(task, from, item[3])
  if said == 'removed' then removals[#removals + 1] = { task, KEYS[at + 1] } end
  if from ~= S_DEAD then
    -- A list is emptied from its head alone.
    if said == 'removed' or said == 'gone' then pops[#pops + 1] = LIST[from] else blocked[from] = true end
  elseif said == 'gone' then
    call('ZREM', KEYS[K_DEAD], item[4])
  end
  items[#items + 1] = said
end
for _, removal in ipairs(removals) do
  local task, key = removal[1], removal[2]
  local h = task.h
  if h[F_STATUS] == S_DEAD then call('ZREM', KEYS[K_DEAD], member(task)) end
  if h[F_KEY] ~= '' then
    if h[F_KEY_UNTIL] > now then
      call('SET', key, struct.pack('>c16c32I8B', task.id, h[F_SHA], h[F_KEY_UNTIL], h[F_STATUS]), 'PX', h[F_KEY_UNTIL] - now)
    else
      call('DEL', key)
    end
  end
  call('UNLINK', task.key)
  bump(counts, h[F_TYPE] .. '|' .. h[F_STATUS], -1)
  if h[F_BATCH] ~= '' and call('HINCRBY', KEYS[K_BATCHES], h[F_BATCH] .. '|0', -1) <= 0 then
    call('ZADD', LEFT, now, h[F_BATCH])
  end
end
for _, list in ipairs(pops) do call('LPOP', list) end
return commit(items)
