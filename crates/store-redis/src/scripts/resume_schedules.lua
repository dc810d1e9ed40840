-- Resumes schedules. The cursor stands where it stood, so what came in between is due at once.
-- KEYS: partition, plan table
-- ARGV: common {actor, node, reason}, then per item: name
-- Returns: {packed {now, '', items {plan} | why refused}, ''}
-- Needs: plan
if first_answer then return repeat_answer() end

local items = {}
for i = 2, #ARGV do
  local plan = plan_of(ARGV[i])
  if plan then
    if is_paused(plan.p) then
      plan.p[P_RESUMED_AT] = now
      change(plan)
    end
    items[#items + 1] = shown(plan)
  else
    items[#items + 1] = 'missing'
  end
end
keep_table()
return commit(items)
