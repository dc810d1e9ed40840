-- Creates schedules, each a new incarnation, or changes them. The same definition changes nothing.
-- KEYS: partition, plan table, then per item: records, ranges
-- ARGV: common {actor, node, reason}, then per item {name, spec, overlap, queue_max, max_fires, has_seen, incarnation, version, cursor, decisions, anchor, next, due, owed {records}}
-- Returns: {packed {now, '', items {how, plan} | why refused}, ''}
-- Needs: plan
if first_answer then return repeat_answer() end

local CREATED, CHANGED, UNCHANGED = 1, 2, 3
local STRIDE = 2
local micros = time[1] * 1000000 + time[2]

local function is_same(plan, item)
  local p = plan.p
  if p[P_OVERLAP] ~= item[3] or p[P_QUEUE_MAX] ~= item[4] or p[P_MAX_FIRES] ~= item[5] then return false end
  return (plan.spec or call('HGET', SPECS, plan.name)) == item[2]
end

local function refusal(plan, item)
  if not plan then
    if item[6] == 1 then return 'missing' end
  else
    local p = plan.p
    if item[6] == 0 or p[P_INCARNATION] ~= item[7] or p[P_VERSION] ~= item[8] or p[P_CURSOR] ~= item[9]
        or p[P_DECISIONS] ~= item[10] then
      return 'moved'
    end
    if p[P_CURSOR] > item[11] then return 'moved' end
  end
  if math.abs(item[11] - now) > CLOCK_TOLERANCE_MS then return 'clock' end
  return nil
end

local function new_plan(name)
  last_token = math.max(last_token + 1, micros)
  local p = {}
  p[P_INCARNATION], p[P_VERSION], p[P_CURSOR], p[P_NEXT], p[P_DUE] = last_token, 0, 0, 0, 0
  p[P_OVERLAP], p[P_QUEUE_MAX], p[P_MAX_FIRES], p[P_FIRES] = 0, 0, 0, 0
  p[P_CREATED], p[P_CHANGED] = now, now
  p[P_PAUSED_BY], p[P_PAUSED_WHY], p[P_PAUSED_AT], p[P_RESUMED_AT] = '', '', 0, 0
  p[P_LAST_PLANNED], p[P_LAST_AT], p[P_LAST_OUTCOME], p[P_LAST_REASON] = 0, 0, 0, ''
  p[P_FIRED_PLANNED], p[P_FIRED_AT], p[P_FIRED_TASK] = 0, 0, ''
  p[P_DECISION], p[P_DECISIONS] = '', 0
  plans[name] = { name = name, p = p }
  return plans[name]
end

local function put(item, at)
  local plan = plan_of(item[1])
  if plan and is_same(plan, item) then return { UNCHANGED, shown(plan) } end
  local why = refusal(plan, item)
  if why then return why end
  local how = CHANGED
  if plan then
    local ledger = ledger_of(item[1], at)
    for _, owed in ipairs(item[14]) do write(plan, ledger, owed, '') end
  else
    how, plan = CREATED, new_plan(item[1])
  end
  local p = plan.p
  plan.spec = item[2]
  p[P_VERSION], p[P_CURSOR], p[P_CHANGED] = p[P_VERSION] + 1, item[11], now
  p[P_OVERLAP], p[P_QUEUE_MAX], p[P_MAX_FIRES] = item[3], item[4], item[5]
  set_decision(p, '')
  set_next(p, item[12], item[13])
  change(plan)
  return { how, shown(plan) }
end

local items = {}
for i = 2, #ARGV do
  items[#items + 1] = put(unpack_one(ARGV[i]), FIRST + (i - 2) * STRIDE)
end
keep_table()
return commit(items)
