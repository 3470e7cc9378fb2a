-- Work the operations out, in order, from `before` to `now`. Nothing is written yet.

local MAX = 9007199254740991 -- 2^53-1
local ADD, BEST, REMOVE, HIDE = 0, 2, 3, 4
local APPLIED, UNCHANGED, OUT_OF_RANGE, DUPLICATE, CONFLICT = 1, 2, 3, 4, 5
local CODE = { '\1', '\2', '\3', '\4', '\5' } -- an outcome's byte
local OP_SIZE = 23
local NO_KEY = 1 / 0 -- what is told for a member who is not there

local worked_out = {}
local function score(user, kind, in_seasons, key)
  local outcome = UNCHANGED
  for j = 1, #in_seasons do
    local old, new = in_seasons[j].now[user], key
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
      in_seasons[j].now[user] = worked_out[j]
    end
  end
  return outcome
end

local function set_hidden(user, yes)
  if (is_hidden[user] or false) == yes then
    return UNCHANGED
  end
  is_hidden[user] = yes
  return APPLIED
end

local function remove(user, ms)
  local outcome = set_hidden(user, false)
  for _, season in ipairs(seasons) do
    if season.now[user] and (season.expires == 0 or ms < season.expires) then
      season.now[user] = false
      outcome = APPLIED
    end
  end
  return outcome
end

-- An id counts once within the horizon, by the messages' own times. Every outcome is remembered.
local outcomes, remembered, renewed = {}, {}, {}
for i = 1, #packed_ops / OP_SIZE do
  local at = (i - 1) * OP_SIZE
  local kind, set, user, key, ms, digest = unpack_struct('>BHHdI6c4', packed_ops, at + 1)
  local id = ids > 0 and ARGV[first_id + i - 1] or ''
  local record = id ~= '' and memory[id]
  local outcome
  if record and math.abs(unpack_struct('>I6', record) - ms) <= dedupe then
    outcome = sub(record, 7, 10) == digest and DUPLICATE or CONFLICT
  else
    if kind <= BEST then
      outcome = score(user, kind, sets[set], key)
    elseif kind == REMOVE then
      outcome = remove(user, ms)
    else
      outcome = set_hidden(user, kind == HIDE)
    end
    if id ~= '' then
      if not renewed[id] then
        remembered[#remembered + 1] = id
      end
      renewed[id] = ms
      memory[id] = sub(packed_ops, at + 14, at + 23) .. CODE[outcome]
    end
  end
  outcomes[i] = CODE[outcome]
end

-- difference turns a season's scores before and now into what its keys must be told.
local function difference(season)
  local add, rem, aside_set, aside_del, delta, moves = {}, {}, {}, {}, {}, {}
  local before, now, members, n, changed = season.before, season.now, season.members, 0, false
  for user = 1, users do
    local old, new, old_aside, new_aside = before[user], now[user], false, false
    if was_hidden[user] then
      old, old_aside = false, old
    end
    if is_hidden[user] then
      new, new_aside = false, new
    end
    if old ~= new then
      if old then
        local g = segment(old, sign)
        delta[g] = (delta[g] or 0) - 1
        members = members - 1
      end
      if new then
        local g = segment(new, sign)
        delta[g] = (delta[g] or 0) + 1
        members = members + 1
        add[n + 1], add[n + 2] = new, ARGV[first_user + user - 1]
        n = n + 2
      else
        rem[#rem + 1] = ARGV[first_user + user - 1]
      end
      season.changed, changed = to, true
      if tell then
        moves[#moves + 1] = old or NO_KEY
        moves[#moves + 1] = new or NO_KEY
      end
    end
    if old_aside ~= new_aside then
      if new_aside then
        aside_set[#aside_set + 1] = ARGV[first_user + user - 1]
        aside_set[#aside_set + 1] = new_aside
      else
        aside_del[#aside_del + 1] = ARGV[first_user + user - 1]
      end
      season.aside = season.aside + (new_aside and 1 or 0) - (old_aside and 1 or 0)
      changed = true
    end
  end
  season.members, season.dirty, season.moves = members, changed, moves
  season.add, season.rem, season.aside_set, season.aside_del, season.delta = add, rem, aside_set, aside_del, delta
end

-- Segment counts are read, checked, and become values to set and fields to delete: a hash holds no zeros.
local function count_segments(season)
  local touched, counts, set, del = {}, {}, {}, {}
  for g, d in pairs(season.delta) do
    if d ~= 0 then
      touched[#touched + 1] = g
    end
  end
  collect('HMGET', season.segment, touched, 1, #touched, function(i, count)
    counts[i] = assert(tonumber(count), 'a segment count is not a number')
  end)
  for i, g in ipairs(touched) do
    local count = (counts[i] or 0) + season.delta[g]
    if count < 0 then
      return false
    elseif count == 0 then
      del[#del + 1] = g
    else
      set[#set + 1] = g
      set[#set + 1] = count
    end
  end
  season.segment_set, season.segment_del = set, del
  return true
end

-- A message may be stored with a time that much before the newest, and must find its season whatever the batches are.
local SLACK = 60000 -- ms

for _, season in ipairs(seasons) do
  season.over = season.expires > 0 and to_ms - SLACK >= season.expires
  if season.needed then
    difference(season)
    if not count_segments(season) then
      return { 'miscounted', season.id }
    end
  end
end

-- What the id memory must be told: records by the bucket of their time, and none left behind in another one.
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
    bucket = string.format('%.0f', math.floor(ms / width))
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
  if change.new and call('HLEN', bucket_key(bucket)) > 0 then
    return { 'damaged', 'id memory is not in meta' }
  end
end
