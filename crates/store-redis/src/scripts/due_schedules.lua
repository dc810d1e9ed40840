-- Schedules whose time has come, with their definitions and live tasks. Writes nothing.
-- KEYS: meta, plans, definitions, due schedules, live tasks
-- ARGV: most
-- Returns: now, then per schedule: name, packed plan, definition, packed live tasks
local call = redis.call
local time = call('TIME')
local meta = call('HMGET', KEYS[1], 'now', 'token', 'guard', 'offset')
local now = math.max(time[1] * 1000 + math.floor(time[2] / 1000) + CLOCK_OFFSET, tonumber(meta[1] or 0))
local reply = { string.format('%.0f', now) }
for _, name in ipairs(call('ZRANGE', KEYS[4], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])) do
  local plan = call('HGET', KEYS[2], name)
  if plan then
    reply[#reply + 1] = name
    reply[#reply + 1] = plan
    reply[#reply + 1] = call('HGET', KEYS[3], name) or ''
    reply[#reply + 1] = call('HGET', KEYS[5], name) or ''
  end
end
return reply
