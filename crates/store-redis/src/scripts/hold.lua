-- Takes or renews the lease of a duty.
-- KEYS: duty
-- ARGV: owner, ttl_ms
-- Returns: 1 where the owner has it, else 0
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
