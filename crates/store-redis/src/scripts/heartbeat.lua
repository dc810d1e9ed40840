-- Renews leases, also past their end where nobody reclaimed (I4), and tells what was asked of the runs.
-- KEYS: partition, then per item: task
-- ARGV: common {actor, node, reason, lease_ms}, then per item {id, token}
-- Returns: {packed {now, '', items 'renewed' | 'cancel' | 'reset' | why lost}, ''}
if first_answer then return repeat_answer() end

local lease_ms = common[4]
local items, renew = {}, {}
for i = 2, #ARGV do
  local item = unpack_one(ARGV[i])
  local task = load(KEYS[K_ITEMS + i - 2], item[1])
  local said
  if not task then
    said = 'missing'
  elseif task.h[F_STATUS] ~= S_RUNNING then
    said = 'illegal'
  elseif task.h[F_TOKEN] ~= item[2] then
    said = 'fenced'
  else
    said = ({ [0] = 'renewed', [T_CANCEL] = 'cancel', [T_RESET] = 'reset' })[task.h[F_STOP]]
    renew[#renew + 1] = now + lease_ms
    renew[#renew + 1] = member(task)
  end
  items[#items + 1] = said
end
if #renew > 0 then call('ZADD', KEYS[K_LEASES], 'XX', unpack(renew)) end
return commit(items)
