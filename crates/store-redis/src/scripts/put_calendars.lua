-- Creates or changes calendars; the same body keeps the version.
-- KEYS: calendars, meta
-- ARGV: epoch, name, body, name, body, …
-- Returns: the version of all together
local call = redis.call
local epoch = call('HGET', KEYS[2], 'epoch')
if epoch ~= ARGV[1] then
  return redis.error_reply('GFLOST ' .. KEYS[2] .. ' has the epoch ' .. (epoch or 'none') .. ', not ' .. ARGV[1])
end
local changed = 0
for i = 2, #ARGV, 2 do
  local kept = call('HGET', KEYS[1], ARGV[i])
  local calendar = kept and cmsgpack.unpack(kept) or { 0, '' }
  if not kept or calendar[2] ~= ARGV[i + 1] then
    changed = changed + 1
    call('HSET', KEYS[1], ARGV[i], cmsgpack.pack({ calendar[1] + 1, ARGV[i + 1] }))
  end
end
return call('HINCRBY', KEYS[2], 'calendars_version', changed)
