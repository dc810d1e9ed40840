-- The plan table: schedules, and the ledger of their instants. A piece of the verbs on schedules; after the partition's
-- keys come those of the table, and for each schedule the keys of its records and of the ranges among them.

local SPECS, PLAN_DUE, NAMES, OLDEST = KEYS[K_ITEMS], KEYS[K_ITEMS + 1], KEYS[K_ITEMS + 2], KEYS[K_ITEMS + 3]
local FIRST = K_ITEMS + 4
local plans, changed_plans, ledgers, changed_ledgers = {}, {}, {}, {}

-- A schedule with its packed record as fields, or nil.
local function plan_of(name)
  if plans[name] == nil then
    local packed = call('HGET', KEYS[K_PLAN], name)
    plans[name] = packed and { name = name, p = unpack_one(packed) } or false
  end
  return plans[name] or nil
end

-- Stages a schedule, to be written as it will be at the end.
local function change(plan)
  if not plan.changed then
    plan.changed = true
    changed_plans[#changed_plans + 1] = plan
  end
end

local function is_paused(p)
  return p[P_PAUSED_AT] > 0 and p[P_RESUMED_AT] == 0
end

local function is_used_up(p)
  return p[P_MAX_FIRES] > 0 and p[P_FIRES] >= p[P_MAX_FIRES]
end

-- The fields of a schedule as they are now.
local function shown(plan)
  return { unpack(plan.p) }
end

-- A schedule that is used up has no next instant.
local function set_next(p, next_at, due)
  if is_used_up(p) or next_at == 0 then next_at, due = 0, 0 end
  p[P_NEXT], p[P_DUE] = next_at, due
end

local function set_decision(p, decision)
  if p[P_DECISION] ~= decision then
    p[P_DECISION], p[P_DECISIONS] = decision, p[P_DECISIONS] + 1
  end
end

-- The records of a schedule, by their keys.
local function ledger_of(name, at)
  local ledger = ledgers[KEYS[at]]
  if not ledger then
    ledger = { name = name, records = KEYS[at], ranges = KEYS[at + 1], adds = {}, drops = {}, own = {}, shrunk = {} }
    ledgers[KEYS[at]] = ledger
    changed_ledgers[#changed_ledgers + 1] = ledger
  end
  return ledger
end

-- A record begins with its instant, so that no two of a schedule are the same bytes. A range has its end and count.
local function packed_record(record)
  local fields = { record.planned, record.at, record.incarnation, record.outcome, record.manual, record.reason,
    record.task }
  if record.to > record.planned then fields[8], fields[9] = record.to, record.count end
  return pack(fields)
end

local function range_name(record)
  return string.format('%.0f:%.0f', record.planned, record.incarnation)
end

-- Stages a record {planned, to, count, outcome, reason, …, manual} as the caller sent it, and what the plan shows of it.
local function write(plan, ledger, sent, task_id)
  local p = plan.p
  local record = { planned = sent[1], to = sent[2], count = sent[3], outcome = sent[4], reason = sent[5],
    manual = sent[6], at = now, incarnation = p[P_INCARNATION], task = task_id }
  ledger.adds[#ledger.adds + 1] = record
  if sent[6] == 0 and sent[1] == sent[2] then ledger.own[sent[1]] = record end
  if p[P_LAST_PLANNED] <= sent[2] then
    p[P_LAST_PLANNED], p[P_LAST_AT], p[P_LAST_OUTCOME], p[P_LAST_REASON] = sent[2], now, sent[4], sent[5]
  end
  if task_id ~= '' and p[P_FIRED_PLANNED] <= sent[1] then
    p[P_FIRED_PLANNED], p[P_FIRED_AT], p[P_FIRED_TASK] = sent[1], now, task_id
  end
  change(plan)
end

local function keep_plan(plan)
  local name, p = plan.name, plan.p
  if plan.removed then
    call('HDEL', KEYS[K_PLAN], name)
    call('HDEL', SPECS, name)
    call('ZREM', PLAN_DUE, name)
    call('ZREM', NAMES, name)
    return
  end
  call('HSET', KEYS[K_PLAN], name, pack(p))
  if plan.spec then
    call('HSET', SPECS, name, plan.spec)
    call('ZADD', NAMES, 0, name)
  end
  if p[P_NEXT] > 0 and not is_paused(p) then
    call('ZADD', PLAN_DUE, p[P_DUE], name)
  else
    call('ZREM', PLAN_DUE, name)
  end
end

-- The newest records stay, and not more than the bound.
local function keep_newest(ledger)
  local surplus = call('ZCARD', ledger.records) - TRIGGERS_MAX
  if surplus <= 0 then return end
  call('ZREMRANGEBYRANK', ledger.records, 0, surplus - 1)
  local head = call('ZRANGE', ledger.records, 0, 0, 'WITHSCORES')
  call('ZREMRANGEBYSCORE', ledger.ranges, '-inf', '(' .. head[2])
end

local function keep_ledger(ledger)
  for _, member in ipairs(ledger.drops) do call('ZREM', ledger.records, member) end
  for name, range in pairs(ledger.shrunk) do
    if range.count == 0 then call('ZREM', ledger.ranges, name) end
    call('ZREM', ledger.records, range.member)
    if range.count > 0 then call('ZADD', ledger.records, range.planned, packed_record(range)) end
  end
  for _, record in ipairs(ledger.adds) do
    call('ZADD', ledger.records, record.planned, packed_record(record))
    if record.to > record.planned then call('ZADD', ledger.ranges, record.to, range_name(record)) end
  end
  if #ledger.adds > 0 then
    -- The first that was written is the first that leaves.
    call('ZADD', OLDEST, 'NX', now, ledger.name)
    keep_newest(ledger)
  end
end

-- Writes what was staged of the table; commit() writes the tasks.
local function keep_table()
  for _, plan in ipairs(changed_plans) do keep_plan(plan) end
  for _, ledger in ipairs(changed_ledgers) do keep_ledger(ledger) end
end
