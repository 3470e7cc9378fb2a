-- Take one step: from a position to another, with the operations in between, or change nothing at all.
-- Lua has no rollback, so this reads and checks everything first and writes after; past the line "Write" no
-- command can fail on the data it meets. Run out of memory, Redis refuses to start it.
--
-- ARGV: from, to, layout, to in ms, forget ids stored before (ms), bucket width (ms), dedupe (ms),
-- sign (-1: keys are negated scores), lost ("1": mark the shard), seasons n, then n times: id, expires ms;
-- season sets m, then m times: numbers of seasons, 2 bytes each; then for each operation: user, id key
-- ("" without an id), and packed: kind 1, set 2, key 8 (double), stored ms 6, digest 4 bytes, big-endian.
-- Scores are keys here: a smaller key stands first.
--
-- Answers "applied", lost, one byte for each outcome | "at", position, lost | "damaged", why.

local MAX = 9007199254740991 -- 2^53-1
local CHUNK = 1000 -- values given to one command; Lua's stack takes some thousands
local ADD, SET, BEST, REMOVE, HIDE, SHOW = 0, 1, 2, 3, 4, 5
local APPLIED, UNCHANGED, OUT_OF_RANGE, DUPLICATE, CONFLICT = 1, 2, 3, 4, 5
local CODE = { '\1', '\2', '\3', '\4', '\5' } -- an outcome's byte

local ARGV = ARGV -- the loops below run for every operation, and a local is found faster than a global
local unpack_struct, sub, tonumber, frexp, floor, abs = struct.unpack, string.sub, tonumber, math.frexp, math.floor, math.abs

local from, to, layout = ARGV[1], ARGV[2], ARGV[3]
local to_ms, forget_ms, width, dedupe = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local sign, lost = tonumber(ARGV[8]), ARGV[9]

-- The step must fit: a whole shard, exactly at `from`, of this layout.
local shard, wrong = open_shard()
if not shard then
  return { 'damaged', wrong }
end
if shard.position ~= from then
  return { 'at', shard.position, shard.lost }
end
if shard.exists and shard.layout ~= layout then
  return redis.error_reply('LAYOUT the shard was created as ' .. tostring(shard.layout) .. ', the board is ' .. layout)
end

-- Seasons: those the shard has, and those the operations bring.
local seasons, given, cursor = {}, {}, 10
for _, season in pairs(shard.seasons) do
  seasons[#seasons + 1] = season
end
for i = 1, tonumber(ARGV[cursor]) do
  local id, expires = ARGV[cursor + 2 * i - 1], ARGV[cursor + 2 * i]
  local season = shard.seasons[id]
  if not season then
    season = read_season(id, '0 0 ' .. expires .. ' none')
    season.new = true
    if redis.call('ZCARD', season.main) + redis.call('HLEN', season.segment) + redis.call('HLEN', season.aside_key) > 0 then
      return { 'damaged', 'season ' .. id .. ' is not in meta' }
    end
    seasons[#seasons + 1] = season
  end
  given[i] = season
end
for _, season in ipairs(seasons) do
  season.users, season.before, season.now, season.touched = {}, {}, {}, {}
end
cursor = cursor + 1 + 2 * #given
local sets = {}
for i = 1, tonumber(ARGV[cursor]) do
  local packed, set = ARGV[cursor + i], {}
  for j = 1, #packed, 2 do
    set[#set + 1] = given[unpack_struct('>H', packed, j)]
  end
  sets[i] = set
end
cursor = cursor + 1 + #sets

-- Operations, and which users of which seasons they need. Remove, hide and show reach every season.
local first_op, ops = cursor, (#ARGV - cursor + 1) / 3
local kinds, reach, keys, times = {}, {}, {}, {}
local users, seen, ids = {}, {}, {}
for i = 1, ops do
  local at = first_op + 3 * i - 3
  local user, id = ARGV[at], ARGV[at + 1]
  local kind, set, key, ms = unpack_struct('>BHdI6', ARGV[at + 2])
  local in_seasons = kind <= BEST and (sets[set] or {}) or seasons
  kinds[i], reach[i], keys[i], times[i] = kind, in_seasons, key, ms
  if not seen[user] then
    seen[user] = true
    users[#users + 1] = user
  end
  if id ~= '' then
    ids[#ids + 1] = id
  end
  for j = 1, #in_seasons do
    local season = in_seasons[j]
    local before = season.before
    if before[user] == nil then
      before[user] = false
      season.users[#season.users + 1] = user
    end
  end
end

-- collect asks one key for many fields, and hands on each that is there.
local function collect(command, key, fields, found)
  for i = 1, #fields, CHUNK do
    local values = redis.call(command, key, unpack(fields, i, math.min(i + CHUNK - 1, #fields)))
    for j = 1, #values do
      if values[j] then
        found(fields[i + j - 1], values[j])
      end
    end
  end
end

-- Read what there is of the users: who is hidden, and the scores in main or set aside.
local was_hidden, hidden_users = {}, {}
if shard.hidden > 0 then
  collect('SMISMEMBER', hidden_key, users, function(user, yes)
    if yes == 1 then
      was_hidden[user] = true
      hidden_users[#hidden_users + 1] = user
    end
  end)
end
for _, season in ipairs(seasons) do
  local before = season.before
  local function take(user, key)
    if before[user] ~= nil then
      before[user] = tonumber(key)
    end
  end
  if season.members > 0 then
    collect('ZMSCORE', season.main, season.users, take)
  end
  if season.aside > 0 then
    collect('HMGET', season.aside_key, hidden_users, take)
  end
end

-- Read what is remembered of the ids, and where.
local memory, stored_in = {}, {}
for bucket in pairs(shard.buckets) do
  collect('HMGET', bucket_key(bucket), ids, function(id, record)
    memory[id], stored_in[id] = record, bucket
  end)
end

-- Work the operations out, in order, on `now` over `before`. Nothing is written yet.
local is_hidden, hidden_touched = {}, {}
for user in pairs(was_hidden) do
  is_hidden[user] = true
end

local function score_of(season, user)
  local key = season.now[user]
  if key == nil then
    return season.before[user]
  end
  return key
end

local function put(season, user, key)
  local now = season.now
  if now[user] == nil then
    season.touched[#season.touched + 1] = user
  end
  now[user] = key
end

local worked_out = {}
local function score(user, kind, in_seasons, key)
  local outcome = UNCHANGED
  for j = 1, #in_seasons do
    local old, new = in_seasons[j].now[user], key
    if old == nil then
      old = in_seasons[j].before[user]
    end
    if kind == ADD then
      new = (old or 0) + key
    elseif kind == BEST and old and old <= key then
      new = old
    end
    if new > MAX or new < -MAX then
      return OUT_OF_RANGE
    end
    if new ~= old then
      outcome = APPLIED
    end
    worked_out[j] = new
  end
  if outcome == APPLIED then
    for j = 1, #in_seasons do
      put(in_seasons[j], user, worked_out[j])
    end
  end
  return outcome
end

local function set_hidden(user, yes)
  if (is_hidden[user] or false) == yes then
    return UNCHANGED
  end
  is_hidden[user] = yes
  hidden_touched[user] = true
  for _, season in ipairs(seasons) do -- its scores change their place
    put(season, user, score_of(season, user))
  end
  return APPLIED
end

local function remove(user, ms)
  local outcome = set_hidden(user, false)
  for _, season in ipairs(seasons) do
    if score_of(season, user) and (season.expires == 0 or ms < season.expires) then
      put(season, user, false)
      outcome = APPLIED
    end
  end
  return outcome
end

local outcomes, remembered, renewed = {}, {}, {}
for i = 1, ops do
  local at = first_op + 3 * i - 3
  local user, id, kind = ARGV[at], ARGV[at + 1], kinds[i]
  local record = id ~= '' and memory[id]
  local outcome
  if record and abs(unpack_struct('>I6', record) - times[i]) <= dedupe then
    outcome = sub(record, 7, 10) == sub(ARGV[at + 2], 18, 21) and DUPLICATE or CONFLICT
  else
    if kind <= BEST then
      outcome = score(user, kind, reach[i], keys[i])
    elseif kind == REMOVE then
      outcome = remove(user, times[i])
    else
      outcome = set_hidden(user, kind == HIDE)
    end
    if id ~= '' then
      if not renewed[id] then
        remembered[#remembered + 1] = id
      end
      renewed[id] = times[i]
      memory[id] = sub(ARGV[at + 2], 12, 21) .. CODE[outcome]
    end
  end
  outcomes[i] = CODE[outcome]
end

-- What that means for each season's keys.
local function segment(key)
  local s = sign * key
  local v = abs(s)
  if v >= 64 then
    local m, e = frexp(v)
    v = (e - 7) * 64 + floor(m * 128)
  end
  return s < 0 and -v or v
end

local function difference(season)
  local add, rem, aside_set, aside_del, delta = {}, {}, {}, {}, {}
  local before, now, members, n = season.before, season.now, season.members, 0
  for _, user in ipairs(season.touched) do
    local old, new, old_aside, new_aside = before[user], now[user], false, false
    if was_hidden[user] then
      old, old_aside = false, old
    end
    if is_hidden[user] then
      new, new_aside = false, new
    end
    if old ~= new then
      if old then
        local g = segment(old)
        delta[g] = (delta[g] or 0) - 1
        members = members - 1
      end
      if new then
        local g = segment(new)
        delta[g] = (delta[g] or 0) + 1
        members = members + 1
        add[n + 1], add[n + 2] = new, user
        n = n + 2
      else
        rem[#rem + 1] = user
      end
      season.changed = to
    end
    if old_aside ~= new_aside then
      if new_aside then
        aside_set[#aside_set + 1] = user
        aside_set[#aside_set + 1] = new_aside
      else
        aside_del[#aside_del + 1] = user
      end
      season.aside = season.aside + (new_aside and 1 or 0) - (old_aside and 1 or 0)
    end
  end
  season.members = members
  season.add, season.rem, season.aside_set, season.aside_del, season.delta = add, rem, aside_set, aside_del, delta
end

-- Counts are read, checked, and become values to set and fields to delete: a hash holds no zeros.
local function count_segments(season)
  local touched, set, del = {}, {}, {}
  for g, d in pairs(season.delta) do
    if d ~= 0 then
      touched[#touched + 1] = g
    end
  end
  local counts = {}
  collect('HMGET', season.segment, touched, function(g, n)
    counts[g] = assert(tonumber(n), 'a segment count is not a number')
  end)
  for _, g in ipairs(touched) do
    local n = (counts[g] or 0) + season.delta[g]
    if n < 0 then
      return false
    elseif n == 0 then
      del[#del + 1] = g
    else
      set[#set + 1] = g
      set[#set + 1] = n
    end
  end
  season.segment_set, season.segment_del = set, del
  return true
end

for _, season in ipairs(seasons) do
  if #season.touched > 0 then
    difference(season)
    if not count_segments(season) then
      return { 'damaged', 'segments of season ' .. season.id .. ' differ from its scores' }
    end
  end
end

-- What that means for the id memory: records by the bucket of their time, and none left behind in an older one.
local function forgotten(bucket)
  return (bucket + 1) * width <= forget_ms
end

local changes, bucket_at = {}, {}
local function changes_of(bucket)
  local change = changes[bucket]
  if not change then
    change = { set = {}, del = {}, new = not shard.buckets[bucket] }
    changes[bucket] = change
    if change.new then
      shard.buckets[bucket] = 0
    end
  end
  return change
end
for _, id in ipairs(remembered) do
  local ms, old = renewed[id], stored_in[id]
  local bucket = bucket_at[ms]
  if not bucket then
    bucket = string.format('%.0f', floor(ms / width))
    bucket_at[ms] = bucket
  end
  if old and old ~= bucket then
    local del = changes_of(old).del
    del[#del + 1] = id
    shard.buckets[old] = shard.buckets[old] - 1
  end
  local set = changes_of(bucket).set
  set[#set + 1] = id
  set[#set + 1] = memory[id]
  if old ~= bucket then
    shard.buckets[bucket] = shard.buckets[bucket] + 1
  end
end
for bucket, change in pairs(changes) do
  if change.new and redis.call('HLEN', bucket_key(bucket)) > 0 then
    return { 'damaged', 'id memory is not in meta' }
  end
end

-- Write. Everything above was reading and thinking.
local meta = { 'position', to, 'layout', layout, 'lost', (lost == '1' or shard.lost == '1') and '1' or '0' }
local meta_del, index_add, index_del, doomed = {}, {}, {}, {}
if not shard.exists then
  index_add[1] = 'shard'
end

local function write(command, key, values)
  for i = 1, #values, CHUNK do -- CHUNK is even: pairs stay together
    redis.call(command, key, unpack(values, i, math.min(i + CHUNK - 1, #values)))
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
  if season.expires > 0 and to_ms >= season.expires then
    if not season.new then
      retire(field, season.main, season.segment, season.aside_key)
    end
  elseif #season.touched > 0 then
    write('ZADD', season.main, season.add)
    write('ZREM', season.main, season.rem)
    write('HSET', season.segment, season.segment_set)
    write('HDEL', season.segment, season.segment_del)
    write('HSET', season.aside_key, season.aside_set)
    write('HDEL', season.aside_key, season.aside_del)
    if not season.new or season.members + season.aside > 0 then
      meta[#meta + 1] = field
      meta[#meta + 1] = string.format('%.0f %.0f %.0f %s', season.members, season.aside, season.expires, season.changed)
      if season.new then
        index_add[#index_add + 1] = field
      end
    end
  end
end

for bucket, count in pairs(shard.buckets) do
  local field, key, change = 'i:' .. bucket, bucket_key(bucket), changes[bucket]
  if count == 0 or forgotten(tonumber(bucket)) then
    retire(field, key)
  elseif change then
    write('HDEL', key, change.del)
    write('HSET', key, change.set)
    meta[#meta + 1] = field
    meta[#meta + 1] = count
    if change.new then
      index_add[#index_add + 1] = field
    end
  end
end

local hide, show = {}, {}
for user in pairs(hidden_touched) do
  if (was_hidden[user] or false) ~= is_hidden[user] then
    local list = is_hidden[user] and hide or show
    list[#list + 1] = user
  end
end
write('SADD', hidden_key, hide)
write('SREM', hidden_key, show)
meta[#meta + 1] = 'hidden'
meta[#meta + 1] = shard.hidden + #hide - #show

for i = 1, #doomed, CHUNK do
  redis.call('UNLINK', unpack(doomed, i, math.min(i + CHUNK - 1, #doomed)))
end
write('HDEL', KEYS[1], meta_del)
write('SREM', KEYS[2], index_del)
write('SADD', KEYS[2], index_add)
write('HSET', KEYS[1], meta)
return { 'applied', meta[6], table.concat(outcomes) }
