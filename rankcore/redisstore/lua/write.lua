-- Write: scores, counts, id memory, who is hidden, and last the position. Everything before was reading and thinking.

local meta, n_meta = { 'position', to }, 2
local meta_del, index_add, index_del, doomed = {}, {}, {}, {}
if not shard.exists then
  index_add[1] = 'shard'
end

local function write(command, key, values)
  for i = 1, #values, CHUNK do -- CHUNK is even: pairs stay together
    call(command, key, unpack(values, i, min(i + CHUNK - 1, #values)))
  end
end

-- keep sets a field of meta; a new one is indexed too.
local function keep(field, value, new)
  meta[n_meta + 1], meta[n_meta + 2], n_meta = field, value, n_meta + 2
  if new then
    index_add[#index_add + 1] = field
  end
end

local function retire(field, ...)
  meta_del[#meta_del + 1] = field
  index_del[#index_del + 1] = field
  for _, key in ipairs({ ... }) do
    doomed[#doomed + 1] = key
  end
end

for _, season in ipairs(seasons) do
  local field = 's:' .. season.id
  if season.over then
    if not season.new then
      retire(field, season.main, season.segment, season.aside_key, season.reached or nil)
    end
  elseif season.dirty then
    write('ZADD', season.main, season.add)
    write('ZREM', season.main, season.rem)
    write('HSET', season.segment, season.segment_set)
    write('HDEL', season.segment, season.segment_del)
    write('HSET', season.aside_key, season.aside_set)
    write('HDEL', season.aside_key, season.aside_del)
    if season.reached then
      write('HSET', season.reached, season.reached_set)
      write('HDEL', season.reached, season.reached_del)
    end
    keep(field, format('%d %d %d %s', season.members, season.aside, season.expires, season.changed), season.new)
  end
end

for bucket, change in pairs(changes) do
  shard.buckets[bucket] = change.count
  if change.new then
    local starts, its_width = bucket_span(bucket)
    bucket_ends[bucket] = starts + its_width
  end
end
for bucket, count in pairs(shard.buckets) do
  local field, key, change = 'i:' .. bucket, bucket_key(bucket), changes[bucket]
  if count == 0 or bucket_ends[bucket] <= forget_ms then
    retire(field, key)
  elseif change then
    write('HSET', key, change.set)
    local gone = {}
    for id in pairs(change.gone) do
      gone[#gone + 1] = id
    end
    write('HDEL', key, gone)
    keep(field, count, change.new)
  end
end

write('SADD', hidden_key, hide)
write('SREM', hidden_key, show)
if #hide + #show > 0 or not shard.exists then
  keep('hidden', shard.hidden + #hide - #show)
end

if moves_kept and #moves > 0 then
  call('SET', moves_key, moves)
elseif has_moves(shard) then
  doomed[#doomed + 1] = moves_key
end
if moves_kept then
  keep('moves', from .. ' ' .. #moves)
elseif shard.moves then
  meta_del[#meta_del + 1] = 'moves'
end

local is_lost = (lost or shard.lost == '1') and '1' or '0'
if not shard.exists then
  keep('layout', layout)
end
if not shard.exists or is_lost ~= shard.lost then
  keep('lost', is_lost)
end
for i = 1, #doomed, CHUNK do
  call('UNLINK', unpack(doomed, i, min(i + CHUNK - 1, #doomed)))
end
write('HDEL', KEYS[1], meta_del)
write('SREM', KEYS[2], index_del)
write('SADD', KEYS[2], index_add)
write('HSET', KEYS[1], meta)
return { 'applied', is_lost, table.concat(outcomes), moves }
