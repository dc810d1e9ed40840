-- Writes definitions of types into the control state's home.
-- KEYS: types, meta
-- ARGV: epoch, name, definition, name, definition, …
-- Returns: 1
local call = redis.call
local epoch = call('HGET', KEYS[2], 'epoch')
if epoch ~= ARGV[1] then
  return redis.error_reply('GFLOST ' .. KEYS[2] .. ' has the epoch ' .. (epoch or 'none') .. ', not ' .. ARGV[1])
end
for i = 2, #ARGV, 2 do call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
return 1
