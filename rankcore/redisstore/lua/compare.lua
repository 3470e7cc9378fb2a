-- Do the recorded counts of some segments equal the members in them, and are these all the members there are between
-- two bounds? All of one moment. Writes nothing. One count for each segment is all it costs: where it says no,
-- recount.lua finds out why.
--
-- KEYS: main, segment. ARGV: the bounds as ZCOUNT takes them, then of each segment its name and its two bounds.
-- Answers "even", members | "uneven".

local call, tonumber = redis.call, tonumber

local names = {}
for i = 3, #ARGV, 3 do
  names[#names + 1] = ARGV[i]
end
local recorded = #names > 0 and call('HMGET', KEYS[2], unpack(names)) or {}
local members = 0
for i = 1, #names do
  local count = call('ZCOUNT', KEYS[1], ARGV[3 * i + 1], ARGV[3 * i + 2])
  if tonumber(recorded[i]) ~= count then
    return { 'uneven' }
  end
  members = members + count
end
if call('ZCOUNT', KEYS[1], ARGV[1], ARGV[2]) ~= members then
  return { 'uneven' }
end
return { 'even', members }
