-- Accepts submissions: exactly one task each (I1).
-- KEYS: partition, then per item: task, idempotency key, queue, turns, heads, batch list
-- ARGV: common {actor, node, reason, outbox_max}, then per item {id, header, payload, has_key, at, delay_ms, expire_ms, key_ms, rejected, direct}
-- Returns: {packed {now, outbox id, items {kind, id, status, hint}}, packed events}; error GFFULL where the outbox is full
-- Needs: create
if first_answer then return repeat_answer() end
if outbox_full(common[4]) then return redis.error_reply(OUTBOX_FULL) end

local items = {}
for i = 2, #ARGV do
  local at = K_ITEMS + (i - 2) * STRIDE
  local item = unpack_one(ARGV[i])
  local kept = known(item, at)
  if kept then
    local kind = kept.sha == unpack_one(item[2])[F_SHA] and EXISTING or CONFLICT
    items[#items + 1] = { kind, kept.id, kept.status, NO_HINT }
  else
    local task, hint = create(item, at, false)
    items[#items + 1] = { CREATED, task.id, task.h[F_STATUS], hint }
  end
end
keep_created()
return commit(items)
