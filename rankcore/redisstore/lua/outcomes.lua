-- What the shard remembers of operations. Writes nothing. ARGV: operation keys, at most 1000.
-- Answers "ok", for each "" or its record and the width of the bucket that has it | "damaged", why.

local shard, wrong = open_shard()
if not shard then
  return { 'damaged', wrong }
end
local records, stored = {}, {}
for i = 1, #ARGV do
  records[i] = ''
end
for id in pairs(shard.buckets) do
  local starts, width = bucket_span(id)
  for i, record in ipairs(redis.call('HMGET', bucket_key(id), unpack(ARGV))) do
    local ms = record and read_record(record, starts, width)
    if ms and (not stored[i] or stored[i] < ms) then
      records[i], stored[i] = record .. width, ms
    end
  end
end
return { 'ok', unpack(records) }
