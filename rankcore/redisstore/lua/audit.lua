-- Where is the shard, and is it whole? Writes nothing. ARGV: layout.
-- Answers "at", position, lost | "damaged", why.

local shard, wrong = open_shard(true)
if not shard then
  return { 'damaged', wrong }
end
if shard.exists and shard.layout ~= ARGV[1] then
  return redis.error_reply('LAYOUT the shard was created as ' .. tostring(shard.layout) .. ', the board is ' .. ARGV[1])
end
return { 'at', shard.position, shard.lost }
