-- Removes schedules. Their records stay until retention takes them; their live tasks go on.
-- KEYS: partition, plan table
-- ARGV: common {actor, node, reason}, then per item: name
-- Returns: {packed {now, '', items {plan as it was} | why refused}, ''}
-- Needs: plan
if first_answer then return repeat_answer() end

local items = {}
for i = 2, #ARGV do
  local plan = plan_of(ARGV[i])
  if plan and not plan.removed then
    plan.removed = true
    change(plan)
    items[#items + 1] = shown(plan)
  else
    items[#items + 1] = 'missing'
  end
end
keep_table()
return commit(items)
