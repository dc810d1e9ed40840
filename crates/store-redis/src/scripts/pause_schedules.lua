-- Pauses schedules. One that is paused keeps its pause; one that follows a pause with unsettled instants begins with it.
-- KEYS: partition, plan table
-- ARGV: common {actor, node, reason}, then per item: name
-- Returns: {packed {now, '', items {plan} | why refused}, ''}
-- Needs: plan
if first_answer then return repeat_answer() end

local items = {}
for i = 2, #ARGV do
  local plan = plan_of(ARGV[i])
  if plan then
    local p = plan.p
    if not is_paused(p) then
      if p[P_PAUSED_AT] == 0 or p[P_CURSOR] >= p[P_RESUMED_AT] then p[P_PAUSED_AT] = now end
      p[P_PAUSED_BY], p[P_PAUSED_WHY], p[P_RESUMED_AT] = actor, reason, 0
      change(plan)
    end
    items[#items + 1] = shown(plan)
  else
    items[#items + 1] = 'missing'
  end
end
keep_table()
return commit(items)
