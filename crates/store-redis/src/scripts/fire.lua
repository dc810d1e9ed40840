-- Writes the records of planned instants, their tasks and the cursors in one step (I7). Of each schedule all or nothing.
-- KEYS: partition, plan table, then per item: records, ranges, then per record with a task: task, idempotency key, queue, turns, heads, batch list, then per earlier task: task, queue, turns, heads
-- ARGV: common {actor, node, reason, outbox_max}, then per item {name, incarnation, version, cursor seen, decisions seen, cursor, next, due, decision, records {planned, to, count, outcome, reason, manual, submission}, earlier {id}}
-- Returns: {packed {now, outbox id, items {plan, records {planned, outcome, reason, task, hint, blocked, fresh}} | why refused}, packed events}; error GFFULL where the outbox is full
-- Needs: create, plan
if first_answer then return repeat_answer() end
if outbox_full(common[4]) then return redis.error_reply(OUTBOX_FULL) end

local PREVIOUS_STRIDE = 4
local NO_TASK = ''
-- Tasks of this call that a later fire of it may stop.
local made_here = {}

-- Earlier tasks that must stop, in their order; nil where the caller did not know one of them.
local function previous_of(plan, item, at)
  local keys, found = {}, {}
  for i, id in ipairs(item[11]) do keys[id] = at + (i - 1) * PREVIOUS_STRIDE end
  for _, entry in ipairs(live_of(plan.name).list) do
    local id = string.sub(entry[1], 1, 16)
    local task = keys[id] and load(KEYS[keys[id]], id) or made_here[id]
    if task then
      local h = task.h
      task.queue = task.queue or queue_at(keys[id] + 1, h[F_POOL], h[F_TIER], h[F_TYPE])
      if not task.queue then return nil end
      found[#found + 1] = task
    elseif not keys[id] then
      return nil
    end
  end
  return found
end

local function refusal(plan, item)
  if not plan then return 'missing' end
  local p = plan.p
  if p[P_INCARNATION] ~= item[2] then return 'missing' end
  if p[P_VERSION] ~= item[3] or p[P_CURSOR] ~= item[4] or p[P_DECISIONS] ~= item[5] then return 'moved' end
  local decides = item[6] == p[P_CURSOR] and #item[10] == 0 and item[9] ~= p[P_DECISION]
  if is_paused(p) and not decides then return 'paused' end
  if is_used_up(p) then return 'finished' end
  if item[6] > now then return 'not_due' end
  return nil
end

local function stop(task)
  local h = task.h
  if h[F_STATUS] == S_RUNNING then
    if h[F_STOP] == T_CANCEL then return end
    h[F_STOP] = T_CANCEL
    step(task, S_RUNNING, 'overlap')
    return
  end
  -- A queue that loses its last task here needs a hint for the next.
  if task.enter == 'queue' or (not task.enter and call('ZSCORE', task.queue.ids, member(task))) then
    shrink(task.queue)
  end
  task.leave = 'waiting'
  finish(task)
  step(task, S_CANCELLED, 'overlap')
end

local function stop_previous(previous)
  for _, task in ipairs(previous) do
    if task.h[F_FINISHED] == 0 then stop(task) end
  end
end

-- Whether a fire may become a task now: blocked (0 or 1), or nil and why it is skipped.
local function turn(plan, previous)
  local p = plan.p
  if p[P_OVERLAP] == O_ALLOW then return 0 end
  if p[P_OVERLAP] == O_CANCEL_PREVIOUS then stop_previous(previous) end
  local list, waiting = live_of(plan.name).list, 0
  if #list == 0 then return 0 end
  if p[P_OVERLAP] == O_SKIP then return nil, 'overlap' end
  if #list >= LIVE_MAX then return nil, 'queue full' end
  for _, entry in ipairs(list) do waiting = waiting + entry[2] end
  if p[P_OVERLAP] == O_QUEUE and waiting >= p[P_QUEUE_MAX] then return nil, 'queue full' end
  return 1
end

local function fire(plan, ledger, sent, at, previous)
  local p = plan.p
  local kept = known(sent[7], at)
  if kept then
    p[P_FIRES] = p[P_FIRES] + 1
    write(plan, ledger, sent, kept.id)
    return { sent[1], R_FIRED, sent[5], kept.id, NO_HINT, 0, 1 }
  end
  local blocked, why = turn(plan, previous)
  if not blocked then
    sent[4], sent[5] = R_SKIPPED, why
    write(plan, ledger, sent, NO_TASK)
    return { sent[1], R_SKIPPED, why, NO_TASK, NO_HINT, 0, 1 }
  end
  local task, hint = create(sent[7], at, blocked == 1)
  if task.h[F_STATUS] == S_DEAD then
    blocked = 0
  elseif p[P_OVERLAP] ~= O_ALLOW then
    join_live(task, blocked)
    if p[P_OVERLAP] == O_CANCEL_PREVIOUS then
      local h = task.h
      task.queue = task.queue or queue_at(at + 2, h[F_POOL], h[F_TIER], h[F_TYPE])
      made_here[task.id], previous[#previous + 1] = task, task
    end
  end
  p[P_FIRES] = p[P_FIRES] + 1
  write(plan, ledger, sent, task.id)
  return { sent[1], R_FIRED, sent[5], task.id, hint, blocked, 1 }
end

local function fire_all(item, at)
  local plan = plan_of(item[1])
  local why = refusal(plan, item)
  if why then return why end
  local tasks, previous = 0, nil
  for _, sent in ipairs(item[10]) do if #sent == 7 then tasks = tasks + 1 end end
  if tasks > 0 and plan.p[P_OVERLAP] == O_CANCEL_PREVIOUS then
    previous = previous_of(plan, item, at + 2 + tasks * STRIDE)
    if not previous then return 'moved' end
  end
  local ledger, told = ledger_of(item[1], at), {}
  at = at + 2
  for _, sent in ipairs(item[10]) do
    if is_used_up(plan.p) then
      told[#told + 1] = { sent[1], R_SKIPPED, 'finished', NO_TASK, NO_HINT, 0, 0 }
    elseif #sent == 7 then
      told[#told + 1] = fire(plan, ledger, sent, at, previous)
    else
      write(plan, ledger, sent, NO_TASK)
      told[#told + 1] = { sent[1], sent[4], sent[5], NO_TASK, NO_HINT, 0, 1 }
    end
    if #sent == 7 then at = at + STRIDE end
  end
  plan.p[P_CURSOR] = item[6]
  set_decision(plan.p, item[9])
  set_next(plan.p, item[7], item[8])
  change(plan)
  return { shown(plan), told }
end

local items, at = {}, FIRST
for i = 2, #ARGV do
  local item = unpack_one(ARGV[i])
  items[#items + 1] = fire_all(item, at)
  at = at + 2 + #item[11] * PREVIOUS_STRIDE
  for _, sent in ipairs(item[10]) do if #sent == 7 then at = at + STRIDE end end
end
keep_table()
keep_created()
return commit(items)
