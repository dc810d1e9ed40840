-- Schedules by name, with their definitions and live tasks; those that are gone are left out. Writes nothing.
-- KEYS: plans, definitions, live tasks
-- ARGV: names
-- Returns: per schedule: name, packed plan, definition, packed live tasks
local call = redis.call
local reply = {}
for _, name in ipairs(ARGV) do
  local plan = call('HGET', KEYS[1], name)
  if plan then
    reply[#reply + 1] = name
    reply[#reply + 1] = plan
    reply[#reply + 1] = call('HGET', KEYS[2], name) or ''
    reply[#reply + 1] = call('HGET', KEYS[3], name) or ''
  end
end
return reply
