-- Work the operations out, in order, from `before` to `now`. Nothing is written yet.

local MAX = 9007199254740991 -- 2^53-1
local ADD, BEST, REMOVE, HIDE = 0, 2, 3, 4
local APPLIED, UNCHANGED, OUT_OF_RANGE, DUPLICATE, CONFLICT = 1, 2, 3, 4, 5
local CODE = { '\1', '\2', '\3', '\4', '\5' } -- an outcome's byte
local NO_KEY = 1 / 0 -- what is told for a member who is not there

local worked_out = {}
local function score(user, kind, set, key, arrival)
  local outcome = UNCHANGED
  for j = 1, #set do
    local old, new = set[j][user], key
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
    for j = 1, #set do
      if arrival and set[j][user] ~= worked_out[j] then
        set.arrived[j][user] = arrival
      end
      set[j][user] = worked_out[j]
    end
  end
  return outcome
end

local hiding = shard.hidden > 0 -- somebody is hidden, before or after
local function set_hidden(user, yes)
  if (is_hidden[user] or false) == yes then
    return UNCHANGED
  end
  is_hidden[user], hiding = yes, true
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

-- note_id notes what the memory now has of an id, for operations of this step that wear it too, and where.
local function note_id(id, record, ms, change)
  local old = stored_in[id]
  if old ~= change.bucket then
    if old then
      forget(id, old)
    end
    stored_in[id], change.gone[id], change.count = change.bucket, nil, change.count + 1
  end
  stored[id], digests[id], digest_spans[id] = ms, select(2, read_record(record, 0, width))
end

-- same_content tells whether an operation is the one that is remembered, as far as both records tell.
local function same_content(id, record)
  local _, digest, span = read_record(record, 0, width)
  local had, had_span = digests[id], digest_spans[id]
  local coarse = max(span, had_span)
  return floor(digest * span / coarse) == floor(had * had_span / coarse)
end

-- An id counts once within the horizon, by the messages' own times. Every outcome is remembered.
local outcomes = {}
local packed_ops, packed_runs = ARGV[8], ARGV[7]
local kinds = numbers('B', 1, packed_ops, 1, n_ops)
local op_users = numbers('H', 2, packed_ops, 1 + n_ops, n_ops)
local op_keys = numbers('d', 8, packed_ops, 1 + 3 * n_ops, n_ops)
local op_sets = #packed_ops > (by_arrival and 19 or 11) * n_ops and numbers('H', 2, packed_ops, 1 + 11 * n_ops, n_ops)
local arrivals = by_arrival and numbers('c8', 8, packed_ops, 1 + #packed_ops - 8 * n_ops, n_ops)
local records = with_ids and numbers('c6', 6, ARGV[9], 1 + 12 * n_ops, n_ops)

local first, change, change_no, set, n_set = 1, nil, nil, nil, 0
for run = 1, #packed_runs, 10 do
  local n, ms = unpack_struct('<Hd', packed_runs, run)
  local no = floor(ms / width)
  if no ~= change_no then
    change = nil
  end
  for i = first, first + n - 1 do
    local kind, user, id, outcome = kinds[i], op_users[i], false, nil
    if kind >= 128 then
      kind, id = kind - 128, ids[i]
      local had = remembered and stored[id]
      if had and abs(had - ms) <= dedupe then
        outcome = same_content(id, records[i]) and DUPLICATE or CONFLICT
        id = false
      end
    end
    if not outcome then
      if kind <= BEST then
        outcome = score(user, kind, sets[op_sets and op_sets[i] or 1] or {}, op_keys[i], arrivals and arrivals[i])
      elseif kind == REMOVE then
        outcome = remove(user, ms)
      else
        outcome = set_hidden(user, kind == HIDE)
      end
      if id then
        if not change then
          change, change_no = changes_of(format('%dx%d', no, width)), no
          set, n_set = change.set, #change.set
        end
        local record = records[i]
        if outcome ~= APPLIED then
          record = sub(record, 1, 5) .. char(byte(record, 6) - APPLIED + outcome)
        end
        set[n_set + 1], set[n_set + 2], n_set = id, record, n_set + 2
        if remembered then
          note_id(id, record, ms, change)
        else
          change.count = change.count + 1
        end
      end
    end
    outcomes[i] = CODE[outcome]
  end
  first = first + n
end

local span_of = {} -- how many keys a segment has, by the power of two it is in

-- told_reached is what users have reached, hidden or not, where that changed.
local function told_reached(season)
  local set, del, n = {}, {}, 0
  for user = 1, n_users do
    local had, has, arrival = season.before[user], season.now[user], season.arrived[user]
    if has and (has ~= had or arrival ~= season.arrived_before[user]) then
      set[n + 1], set[n + 2] = users[user], pack('>c8d', arrival, has)
      n = n + 2
    elseif had and not has then
      del[#del + 1] = users[user]
    end
  end
  season.reached_set, season.reached_del = set, del
  return n + #del > 0
end

-- difference turns a season's scores before and now into what its keys must be told.
local function difference(season)
  local add, rem, aside_set, aside_del, delta, moves = {}, {}, {}, {}, {}, {}
  local before, now, members, n, m, changed = season.before, season.now, season.members, 0, 0, false
  local arrived_before, arrived, had_aside = season.arrived_before, season.arrived, season.aside -- no arrivals where ties share
  for user = 1, n_users do
    local old, new = before[user], now[user]
    if hiding then
      local old_aside, new_aside = false, false
      if was_hidden[user] then
        old, old_aside = false, old
      end
      if is_hidden[user] then
        new, new_aside = false, new
      end
      if old_aside ~= new_aside then
        if new_aside then
          aside_set[#aside_set + 1] = users[user]
          aside_set[#aside_set + 1] = new_aside
        else
          aside_del[#aside_del + 1] = users[user]
        end
        season.aside = season.aside + (new_aside and 1 or 0) - (old_aside and 1 or 0)
        changed = true
      end
    end
    local again = arrived and old and old == new and arrived_before[user] ~= arrived[user] -- it was left meanwhile
    if old ~= new or again then
      -- Most scores stay in their segment, and that is seen without naming it: as far from zero as the old one's
      -- leading digits are, and no further than its segment is wide.
      local stays = false
      if old and new then
        local v, w = old, new
        if v < 0 then
          v, w = -v, -w
        end
        if v >= 64 then
          local _, e = frexp(v)
          local span = span_of[e]
          if not span then
            span = 2 ^ (e - 7)
            span_of[e] = span
          end
          local distance = w - v + v % span
          stays = distance >= 0 and distance < span
        end
      end
      if not stays then
        if old then
          local g = segment(old, sign)
          delta[g] = (delta[g] or 0) - 1
          members = members - 1
        end
        if new then
          local g = segment(new, sign)
          delta[g] = (delta[g] or 0) + 1
          members = members + 1
        end
      end
      if new then
        add[n + 1], add[n + 2] = new, arrived and arrived[user] .. users[user] or users[user]
        n = n + 2
      end
      if arrived then
        if old and not (new and arrived_before[user] == arrived[user]) then
          rem[#rem + 1] = arrived_before[user] .. users[user]
        end
      elseif not new then
        rem[#rem + 1] = users[user]
      end
      if tell and not again then
        moves[m + 1], moves[m + 2] = old or NO_KEY, new or NO_KEY
        m = m + 2
      end
    end
  end
  season.aside_made = had_aside == 0 and #aside_set > 0
  if n > 0 or #rem > 0 then
    season.changed, changed = to, true
  end
  if arrived and told_reached(season) then
    changed = true
  end
  season.members, season.dirty, season.moves = members, changed, moves
  season.add, season.rem, season.aside_set, season.aside_del, season.delta = add, rem, aside_set, aside_del, delta
end

-- Segment counts are read, checked, and become values to set and fields to delete: a hash holds no zeros.
local function count_segments(season)
  local touched, deltas, n, set, del, k = {}, {}, 0, {}, {}, 0
  for g, d in pairs(season.delta) do
    if d ~= 0 then
      n = n + 1
      touched[n], deltas[n] = format('%d', g), d -- as a string: it is given to Redis twice
    end
  end
  local counts = ask('HMGET', season.segment, touched)
  for i = 1, n do
    local count = deltas[i]
    if counts[i] then
      count = count + assert(tonumber(counts[i]), 'a segment count is not a number')
    end
    if count < 0 then
      return false
    elseif count == 0 then
      del[#del + 1] = touched[i]
    else
      set[k + 1], set[k + 2], k = touched[i], count, k + 2
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

for bucket, change in pairs(changes) do
  if change.new and call('HLEN', bucket_key(bucket)) > 0 then
    return { 'damaged', 'id memory is not in meta' }
  end
end
local hide, show = {}, {}
for user, yes in pairs(is_hidden) do
  if (was_hidden[user] or false) ~= yes then
    local list = yes and hide or show
    list[#list + 1] = users[user]
  end
end
for _, season in ipairs(seasons) do
  if season.aside_made and call('HLEN', season.aside_key) > 0 then
    return { 'damaged', 'season ' .. season.id .. ' differs from meta' }
  end
end
if #hide > 0 and shard.hidden == 0 and call('SCARD', hidden_key) > 0 then
  return { 'damaged', 'hidden is not in meta' }
end
