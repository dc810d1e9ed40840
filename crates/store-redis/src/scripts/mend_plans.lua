-- Compares schedules with their indices and mends what differs (I9).
-- KEYS: partition, plan table
-- ARGV: common {actor, node, reason}, then per item: name
-- Returns: {packed {now, '', items 'right' | 'mended'}, ''}
-- Needs: plan
if first_answer then return repeat_answer() end

local items, adds, drops = {}, {}, {}

-- Stages what makes a name stand in an index with this score, or not at all where there is none; whether it was wrong.
local function differs(index, name, wanted)
  local score = call('ZSCORE', index, name)
  if not wanted then
    if score then drops[#drops + 1] = { index, name } end
    return score
  end
  if score and tonumber(score) == wanted then return false end
  adds[#adds + 1] = { index, wanted, name }
  return true
end

local function mend(name)
  local plan = plan_of(name)
  local p = plan and plan.p
  local due = p and p[P_NEXT] > 0 and not is_paused(p) and p[P_DUE]
  local wrong_due = differs(PLAN_DUE, name, due)
  local wrong_name = differs(NAMES, name, plan and 0)
  return (wrong_due or wrong_name) and 'mended' or 'right'
end

for i = 2, #ARGV do items[#items + 1] = mend(ARGV[i]) end
for _, drop in ipairs(drops) do call('ZREM', drop[1], drop[2]) end
for _, add in ipairs(adds) do call('ZADD', add[1], add[2], add[3]) end
return commit(items)
