-- Ends runs badly: failed or timeout, and at once retrying or dead.
-- KEYS: partition, then per item: task
-- ARGV: common {actor, node, reason}, then per item {id, token, class, code, error, output, delay_ms}
-- Returns: {packed {now, outbox id, items {status, version} | why refused}, packed events}
if first_answer then return repeat_answer() end

local function retry_or_die(task, delay_ms)
  local h = task.h
  if h[F_RETRIES] < h[F_MAX_RETRY] then
    h[F_RETRIES] = h[F_RETRIES] + 1
    wait_until(task, now + math.max(delay_ms, 0))
    step(task, S_RETRYING, '', 0, 0, delay_ms)
  else
    finish(task)
    step(task, S_DEAD, 'retries used up')
  end
end

local function keep_texts(task, item)
  task.fields = { 'e', item[5] }
  if item[6] ~= '' then
    task.fields[3], task.fields[4] = 'g' .. task.h[F_ATTEMPT], item[6]
  end
end

local function fail(task, item)
  if not task then return 'missing' end
  local h = task.h
  if h[F_STATUS] ~= S_RUNNING then
    refuse_fenced()
    return 'illegal'
  end
  if h[F_TOKEN] ~= item[2] then
    refuse_fenced()
    return 'fenced'
  end
  local run_ms = now - h[F_CLAIMED]
  h[F_CLASS], h[F_CODE] = item[3], item[3] == C_TIMEOUT and 'run_timeout' or item[4]
  keep_texts(task, item)
  if not obey_stop(task) then
    leave_run(task)
    if item[3] == C_TIMEOUT then
      step(task, S_TIMEOUT, 'run_timeout', 0, run_ms)
      retry_or_die(task, item[7])
    else
      step(task, S_FAILED, '', 0, run_ms)
      if item[3] == C_DETERMINISTIC then
        finish(task)
        step(task, S_DEAD, 'deterministic error')
      else
        retry_or_die(task, item[7])
      end
    end
  end
  return { h[F_STATUS], h[F_VERSION] }
end

local items = {}
for i = 2, #ARGV do
  local item = unpack_one(ARGV[i])
  items[#items + 1] = fail(load(KEYS[K_ITEMS + i - 2], item[1]), item)
end
return commit(items)
