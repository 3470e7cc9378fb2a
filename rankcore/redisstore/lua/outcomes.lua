-- What the shard remembers of operations. Writes nothing. ARGV: operation keys, at most 1000.
-- Answers "ok", one record or "" for each | "damaged", why.

local shard, wrong = open_shard()
if not shard then
  return { 'damaged', wrong }
end
local records = {}
for i = 1, #ARGV do
  records[i] = ''
end
for id in pairs(shard.buckets) do
  for i, record in ipairs(redis.call('HMGET', bucket_key(id), unpack(ARGV))) do
    if record then
      records[i] = record
    end
  end
end
return { 'ok', unpack(records) }
