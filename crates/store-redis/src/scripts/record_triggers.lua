-- Writes records that move no cursor: triggers by hand, and backfills of instants up to the cursor.
-- KEYS: partition, plan table, records, ranges, then per item: task, idempotency key, queue, turns, heads, batch list
-- ARGV: common {actor, node, reason, outbox_max, name, incarnation}, then per item {planned, to, count, outcome, reason, manual, submission}
-- Returns: {packed {now, outbox id, items {planned, outcome, reason, task, hint, blocked, fresh} | why refused}, packed events}; error GFFULL where the outbox is full
-- Needs: create, plan
if first_answer then return repeat_answer() end
if outbox_full(common[4]) then return redis.error_reply(OUTBOX_FULL) end

local name, incarnation = common[5], common[6]
local plan, ledger = plan_of(name), ledger_of(name, FIRST)

local function records_at(instant)
  local found = {}
  for _, packed in ipairs(call('ZRANGE', ledger.records, instant, instant, 'BYSCORE')) do
    local kept = unpack_one(packed)
    if kept[3] == incarnation then
      found[#found + 1] = { member = packed, planned = kept[1], at = kept[2], incarnation = kept[3], outcome = kept[4],
        manual = kept[5], reason = kept[6], task = kept[7], to = kept[8] or kept[1], count = kept[9] or 1 }
    end
  end
  return found
end

-- The record of this very instant, or nil.
local function own(instant)
  if ledger.own[instant] then return ledger.own[instant] end
  for _, kept in ipairs(records_at(instant)) do
    if kept.manual == 0 and kept.to == kept.planned then return kept end
  end
  return nil
end

-- The range that speaks for an instant and its name, or nil; as it will be after what was staged.
local function range_over(instant)
  for _, found in ipairs(call('ZRANGE', ledger.ranges, instant, '+inf', 'BYSCORE', 'LIMIT', 0, 4)) do
    local from, of = string.match(found, '^(%-?%d+):(%d+)$')
    if tonumber(of) == incarnation and tonumber(from) <= instant then
      if ledger.shrunk[found] then return ledger.shrunk[found], found end
      for _, kept in ipairs(records_at(tonumber(from))) do
        if kept.to > kept.planned then return kept, found end
      end
    end
  end
  return nil
end

-- Takes an instant out of the record that speaks for it: its own, or the range that it lies in.
local function give_up(instant, kept)
  if kept then
    ledger.drops[#ledger.drops + 1] = kept.member
    return
  end
  local range, found = range_over(instant)
  if range and range.count > 0 then
    range.count = range.count - 1
    ledger.shrunk[found] = range
  end
end

local function record(sent, at)
  local p = plan.p
  local manual, asked = sent[6] == 1, sent[1]
  if manual and sent[1] == 0 then sent[1], sent[2] = now, now end
  if sent[1] > (manual and now or p[P_CURSOR]) then return 'not_due' end
  local task = known(sent[7], at)
  local kept = not manual and own(sent[1]) or nil
  if kept and kept.outcome == R_FIRED then return { kept.planned, R_FIRED, kept.reason, kept.task, NO_HINT, 0, 0 } end
  if manual and task then return { sent[1], R_FIRED, sent[5], task.id, NO_HINT, 0, 0 } end
  local blocked, hint = 0, NO_HINT
  if not task then
    if p[P_OVERLAP] ~= O_ALLOW then
      local list = live_of(name).list
      if #list >= LIVE_MAX then return 'full' end
      blocked = #list > 0 and 1 or 0
    end
    task, hint = create(sent[7], at, blocked == 1, asked == 0 and now or nil)
    if task.h[F_STATUS] == S_DEAD then
      blocked = 0
    elseif p[P_OVERLAP] ~= O_ALLOW then
      join_live(task, blocked)
    end
  end
  if not manual then give_up(sent[1], kept) end
  write(plan, ledger, sent, task.id)
  return { sent[1], R_FIRED, sent[5], task.id, hint, blocked, 1 }
end

local items = {}
for i = 2, #ARGV do
  if plan and plan.p[P_INCARNATION] == incarnation then
    items[#items + 1] = record(unpack_one(ARGV[i]), FIRST + 2 + (i - 2) * STRIDE)
  else
    items[#items + 1] = 'missing'
  end
end
keep_table()
keep_created()
return commit(items)
