-- What every verb shares. Names that begin with K_ (keys), F_ (header fields), S_ (statuses), T_ (stops), P_ (fields of
-- a plan), O_ (overlap policies) and R_ (outcomes of instants) are replaced by numbers when the script is loaded, and
-- LEGAL by the rows of the verb in the table of the domain crate.
--
-- Order of work in every verb: look for the nonce's first answer, read the clock, load and check every task (values
-- only), then commit() writes everything. Nothing after the first write can fail.

local call = redis.call
local pack, unpack_one = cmsgpack.pack, cmsgpack.unpack

local common, epoch = unpack_one(ARGV[1])
local actor, node, reason = common[1], common[2], common[3]
local prefix = string.sub(KEYS[K_META], 1, -2)

-- A lost reply is asked for again with the same nonce: the first answer, and no write (I12).
local first_answer = call('GET', KEYS[K_NONCE])

-- The store's clock never runs backward, not even after a failover to a host that is behind (I11).
local time = call('TIME')
local meta = call('HMGET', KEYS[K_META], 'now', 'token', 'guard', 'offset', 'lease', 'epoch')
-- A partition that was emptied, or is another store's, is not worked on.
if meta[6] ~= epoch then
  return redis.error_reply('GFLOST ' .. prefix .. ' has the epoch ' .. (meta[6] or 'none') .. ', not ' .. epoch)
end
local before = tonumber(meta[1] or 0)
local now = math.max(time[1] * 1000 + math.floor(time[2] / 1000) + CLOCK_OFFSET, before)
local token_before = tonumber(meta[2] or 0)
local last_token = token_before
local guard = tonumber(meta[3] or 0)

-- After a silence of half a lease the store was away, or everybody was: heartbeats come first (I4). Whichever verb ends
-- the silence sees it; the fleet's lease is kept by reclaim.
local lease = tonumber(meta[5] or 0)
if before > 0 and lease > 0 and now - before > lease / 2 then guard = now + lease end

local legal = LEGAL
local loaded, staged, events, counts, batches, touched = {}, {}, {}, {}, {}, {}

local function load(key, id)
  local task = loaded[key]
  if task then return task end
  local record = call('HMGET', key, 'h', 'l')
  if not record[1] then return nil end
  task = { key = key, id = id, h = unpack_one(record[1]), line = record[2] }
  loaded[key] = task
  return task
end

-- Whether the verb has any row that starts where the task stands.
local function may(task)
  return legal[task.h[F_STATUS]] ~= nil
end

local function bump(map, key, by)
  map[key] = (map[key] or 0) + by
end

-- One transition: version, status, a timeline item, counters and an event, all as values.
local function step(task, to, why, wait_ms, run_ms, delay_ms)
  local h = task.h
  local from = h[F_STATUS]
  if not (legal[from] and legal[from][to]) then error('illegal transition ' .. from .. ' ' .. to) end
  h[F_VERSION] = h[F_VERSION] + 1
  h[F_STATUS] = to
  h[F_UPDATED] = now
  if reason ~= '' then why = reason end
  local class, code = 0, ''
  if to == S_FAILED or to == S_TIMEOUT or to == S_RETRYING or to == S_DEAD then
    class, code = h[F_CLASS], h[F_CODE]
  end
  local item = pack({ h[F_VERSION], from, to, now, h[F_ATTEMPT], actor, node, why, class, code })
  local line = task.line
  if h[F_VERSION] > TIMELINE_MAX then
    line = string.sub(line, 3 + struct.unpack('>I2', line))
  end
  task.line = line .. struct.pack('>I2', #item) .. item
  if from ~= to then
    if from > 0 then bump(counts, h[F_TYPE] .. '|' .. from, -1) end
    bump(counts, h[F_TYPE] .. '|' .. to, 1)
    if h[F_BATCH] ~= '' then
      -- Under 0 stand the tasks of the batch that were not removed yet.
      bump(batches, h[F_BATCH] .. '|' .. from, from > 0 and -1 or 1)
      bump(batches, h[F_BATCH] .. '|' .. to, 1)
    end
  end
  events[#events + 1] = { task.id, h[F_VERSION], from, to, now, h[F_ATTEMPT], actor, node, why, class, code, h[F_TYPE],
    h[F_POOL], h[F_TIER], h[F_BATCH], h[F_RETRIES], h[F_MAX_RETRY], wait_ms or 0, run_ms or 0, delay_ms or 0,
    h[F_SAMPLED], h[F_SCHEDULE] }
  if not task.staged then
    task.staged = true
    staged[#staged + 1] = task
  end
end

-- An index holds id and batch of a task, so that whoever reads it knows the batch's key.
local function member(task)
  return task.id .. task.h[F_BATCH]
end

local function leave_run(task)
  local h = task.h
  h[F_TOKEN], h[F_DEADLINE], h[F_STOP] = '', 0, 0
  task.leave = 'lease'
end

-- The live tasks of schedules whose tasks may not overlap, in the order in which they run: {member, blocked (1 or 0),
-- due}. Blocked ones stand in no index. What a call changed is written by commit().
local lives = {}

local function live_of(schedule)
  local live = lives[schedule]
  if live then return live end
  local packed = call('HGET', KEYS[K_LIVE], schedule)
  live = { list = packed and unpack_one(packed) or {} }
  lives[schedule] = live
  return live
end

local function join_live(task, blocked)
  local live = live_of(task.h[F_SCHEDULE])
  live.list[#live.list + 1] = { member(task), blocked, task.h[F_DUE] }
  live.changed = true
end

-- The task's entry and its place among the live tasks of its schedule, or nil.
local function live_entry(task)
  if task.h[F_SCHEDULE] == '' then return nil end
  local live = live_of(task.h[F_SCHEDULE])
  for at, entry in ipairs(live.list) do
    if entry[1] == member(task) then return entry, at, live end
  end
  return nil
end

-- A task that runs again by hand lives again: those that come later see it, whatever lives beside it.
local function rejoin_live(task)
  local h = task.h
  if h[F_SCHEDULE] == '' or h[F_PARENT] ~= '' or live_entry(task) then return end
  local plan = call('HGET', KEYS[K_PLAN], h[F_SCHEDULE])
  if not plan or unpack_one(plan)[P_OVERLAP] == O_ALLOW then return end
  if #live_of(h[F_SCHEDULE]).list < LIVE_MAX then join_live(task, 0) end
end

-- Waits for a time; what is due now is moved to its queue by release_due. A blocked task goes on waiting for its turn.
local function wait_until(task, due)
  task.h[F_DUE] = due
  local entry, _, live = live_entry(task)
  if entry and entry[2] == 1 then
    entry[3], live.changed = due, true
  else
    task.enter, task.score = 'due', due
  end
end

local function finish(task)
  task.h[F_FINISHED] = now
  task.enter = 'ended'
  local entry, at, live = live_entry(task)
  if entry then
    table.remove(live.list, at)
    live.changed = true
  end
end

-- What a stop that somebody asked makes of a run that has ended; whether there was one.
local function obey_stop(task)
  local stop = task.h[F_STOP]
  if stop == 0 then return false end
  local run_ms = now - task.h[F_CLAIMED]
  leave_run(task)
  if stop == T_CANCEL then
    finish(task)
    step(task, S_CANCELLED, 'cancel asked', 0, run_ms)
  else
    wait_until(task, now)
    step(task, S_PENDING, 'reset asked', 0, run_ms)
  end
  return true
end

local function paused(task_type)
  return call('HGET', KEYS[K_CONTROL], task_type) == 'paused'
end

-- The queue of a task among KEYS[at], at + 1, at + 2, or nil where the caller's picture is out of date.
local function queue_at(at, pool, tier, task_type)
  local tail = pool .. ':' .. tier
  if KEYS[at] ~= prefix .. 'q:' .. tail .. ':' .. task_type or KEYS[at + 1] ~= prefix .. 'qv:' .. tail
      or KEYS[at + 2] ~= prefix .. 'qh:' .. tail then
    return nil
  end
  local queue = touched[KEYS[at]]
  if not queue then
    queue = { ids = KEYS[at], turns = KEYS[at + 1], heads = KEYS[at + 2], task_type = task_type }
    touched[KEYS[at]] = queue
  end
  return queue
end

-- Keeps the sets of types true to the head of one queue: absent if empty or paused, by virtual time and by age else.
local function settle(queue)
  local head = call('ZRANGE', queue.ids, 0, 0, 'WITHSCORES')
  if #head == 0 or paused(queue.task_type) then
    call('ZREM', queue.turns, queue.task_type)
    call('ZREM', queue.heads, queue.task_type)
    return
  end
  call('ZADD', queue.heads, head[2], queue.task_type)
  if not call('ZSCORE', queue.turns, queue.task_type) then
    -- A type that comes anew starts beside the one whose turn it is: its absence earned it nothing.
    local lowest = call('ZRANGE', queue.turns, 0, 0, 'WITHSCORES')
    call('ZADD', queue.turns, lowest[2] or 0, queue.task_type)
  end
end

local function unindex(task)
  local id = member(task)
  if task.leave == 'lease' then
    call('ZREM', KEYS[K_LEASES], id)
  elseif task.leave == 'dead' then
    call('ZREM', KEYS[K_DEAD], id)
  elseif task.leave == 'dispatched' then
    call('ZREM', KEYS[K_DISPATCHED], id)
  elseif task.leave == 'waiting' then
    local gone = call('ZREM', KEYS[K_DUE], id) + call('ZREM', KEYS[K_DISPATCHED], id)
    if gone == 0 then call('ZREM', task.queue.ids, id) end
  end
end

local function index(task)
  local id, h = member(task), task.h
  if task.enter == 'due' then
    call('ZADD', KEYS[K_DUE], task.score, id)
  elseif task.enter == 'lease' then
    call('ZADD', KEYS[K_LEASES], task.score, id)
  elseif task.enter == 'dispatched' then
    call('ZADD', KEYS[K_DISPATCHED], task.score, id)
  elseif task.enter == 'queue' then
    call('ZADD', task.queue.ids, task.score, id)
  elseif task.enter == 'ended' then
    if h[F_STATUS] == S_DEAD then
      call('ZADD', KEYS[K_DEAD], now, id)
    elseif h[F_STATUS] == S_SUCCESS then
      call('RPUSH', KEYS[K_SUCCESS], task.id .. struct.pack('>I8', now))
    else
      call('RPUSH', KEYS[K_CANCELLED], task.id .. struct.pack('>I8', now))
    end
  end
end

local function keep_meta()
  -- An idle partition is written four times a second at most.
  if #staged > 0 or now - before > 250 or before == 0 or last_token ~= token_before then
    call('HSET', KEYS[K_META], 'now', now, 'token', string.format('%.0f', last_token), 'guard', guard)
  end
end

-- Where only blocked tasks are left, the first of them goes: release_due moves it to its queue.
local function keep_lives()
  for schedule, live in pairs(lives) do
    if live.changed then
      local first, running = live.list[1], false
      for _, entry in ipairs(live.list) do running = running or entry[2] == 0 end
      if first and not running then
        first[2] = 0
        call('ZADD', KEYS[K_DUE], math.max(first[3], now), first[1])
      end
      if first then
        call('HSET', KEYS[K_LIVE], schedule, pack(live.list))
      else
        call('HDEL', KEYS[K_LIVE], schedule)
      end
    end
  end
end

local function answer(items, outbox_id, packed)
  return { pack({ now, outbox_id, items }), packed }
end

-- Writes what was staged, and answers.
local function commit(items)
  for _, task in ipairs(staged) do
    local fields = task.fields or {}
    local at = #fields
    fields[at + 1], fields[at + 2], fields[at + 3], fields[at + 4] = 'h', pack(task.h), 'l', task.line
    call('HSET', task.key, unpack(fields))
    unindex(task)
    index(task)
  end
  for _, queue in pairs(touched) do settle(queue) end
  keep_lives()
  for field, by in pairs(counts) do
    if by ~= 0 then call('HINCRBY', KEYS[K_COUNTERS], field, by) end
  end
  for field, by in pairs(batches) do
    if by ~= 0 then call('HINCRBY', KEYS[K_BATCHES], field, by) end
  end
  local outbox_id, packed = '', ''
  if #events > 0 then
    packed = pack(events)
    outbox_id = call('XADD', KEYS[K_OUTBOX], '*', 'e', packed)
  end
  keep_meta()
  call('SET', KEYS[K_NONCE], pack({ now, outbox_id, items }), 'PX', NONCE_MS)
  return answer(items, outbox_id, packed)
end

-- The first answer again; its events too, while they still wait in the outbox.
local function repeat_answer()
  local kept = unpack_one(first_answer)
  local packed = ''
  if kept[2] ~= '' then
    local entry = call('XRANGE', KEYS[K_OUTBOX], kept[2], kept[2])
    if #entry > 0 then packed = entry[1][2][2] end
  end
  return { first_answer, packed }
end

local function refuse_fenced()
  call('HINCRBY', KEYS[K_META], 'refused', 1)
end
