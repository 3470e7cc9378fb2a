-- What a shard says of itself, and whether it is whole. Every script that changes or audits a shard starts
-- with this. KEYS: meta, index. All keys of a shard share its hash tag, and what is not in KEYS is found
-- through these two: seasons and memory buckets come and go with time.
--
--   meta    position, layout, lost, hidden (a count)
--           moves -> "<position before the last step> <bytes of what it moved>", when the step was to tell
--           s:<season> -> "<members> <aside> <expires ms, 0 = never> <position that last changed its scores>"
--           i:<bucket> -> how many operation ids the bucket remembers. A bucket is named "<number>x<width>", and has
--           those stored in `width` ms from number * width: a board's width changes with its dedupe
--           a layout that ends in ":first": members stand in a tie by their arrivals. Then main names them by the
--           arrival, 8 bytes that Redis itself puts in order, and the user; and reached is a hash: user -> arrival, key
--           as a double, for members and those aside alike
--   index   "shard", s:<season> and i:<bucket> again: with meta lost, it tells what there was; a lost index shows

local prefix = string.sub(KEYS[1], 1, -5) -- without "meta"
local hidden_key, moves_key = prefix .. 'hidden', prefix .. 'moves'

local function season_keys(id)
  return prefix .. id .. ':main', prefix .. id .. ':segment', prefix .. id .. ':aside', prefix .. id .. ':reached'
end

local function is_first(layout)
  return layout ~= nil and string.sub(layout, -6) == ':first'
end

local bucket_keys = {} -- each is made once: a step needs it for every command on the bucket
local function bucket_key(id)
  local key = bucket_keys[id]
  if not key then
    key = prefix .. 'ids:' .. id
    bucket_keys[id] = key
  end
  return key
end

-- bucket_span is when the time of a bucket begins, and how long it is, in ms.
local function bucket_span(id)
  local x = string.find(id, 'x', 1, true)
  local width = tonumber(string.sub(id, x + 1))
  return string.sub(id, 1, x - 1) * width, width
end

-- read_record is what a record of the id memory tells: when the operation was stored, and what of its digest there was
-- room for, as the number that it is, together with the weight of its last bit. The lowest two bits are the outcome.
local function read_record(record, starts, width)
  local _, bits = math.frexp(width - 1)
  local n, span = math.floor(struct.unpack('>I6', record) / 4), 2 ^ bits
  local offset = n % span
  return starts + offset, (n - offset) / span, span
end

-- read_season reads what meta says of a season. Only by arrival it has the key reached.
local function read_season(id, text, by_arrival)
  local members, aside, expires, changed = string.match(text, '^(%d+) (%d+) (%d+) (%S+)$')
  if not members then
    return nil
  end
  local main, segment, put_aside, reached = season_keys(id)
  return {
    id = id, main = main, segment = segment, aside_key = put_aside, reached = by_arrival and reached,
    members = tonumber(members), aside = tonumber(aside), expires = tonumber(expires), changed = changed,
  }
end

local SEASON, BUCKET, COLON = string.byte('si:', 1, 3) -- how fields of meta begin

-- read_meta returns the shard as meta has it: at position "none" when there is no meta, nil when meta is garbled.
local function read_meta()
  local shard, parts = { position = 'none', lost = '0', hidden = 0, seasons = {}, buckets = {} }, 0
  local seasons, buckets, fields, byte, sub = shard.seasons, shard.buckets, redis.call('HGETALL', KEYS[1]), string.byte, string.sub
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    local kind, colon = byte(name, 1, 2) -- numbers: a step reads this, and strings cost more
    if colon == COLON and kind == SEASON then
      seasons[sub(name, 3)], parts = value, parts + 1
    elseif colon == COLON and kind == BUCKET then
      buckets[sub(name, 3)], parts = tonumber(value), parts + 1
    elseif name == 'hidden' then
      shard.hidden = tonumber(value)
    else
      shard[name] = value
    end
  end
  shard.exists, shard.parts = #fields > 0, parts
  local by_arrival = is_first(shard.layout)
  for id, text in pairs(seasons) do
    local season = read_season(id, text, by_arrival)
    if not season then
      return nil
    end
    seasons[id] = season
  end
  if not shard.hidden then
    return nil
  end
  return shard
end

-- has_moves tells whether the shard has what the last step moved in a key of its own.
local function has_moves(shard)
  return shard.moves ~= nil and string.sub(shard.moves, -2) ~= ' 0'
end

-- names of the keys that must exist by what meta says, meta first.
local function expected_keys(shard)
  local names, n = { KEYS[1], KEYS[2] }, 2
  for _, season in pairs(shard.seasons) do
    if season.members > 0 then
      names[n + 1], names[n + 2], n = season.main, season.segment, n + 2
    end
    if season.aside > 0 then
      names[n + 1], n = season.aside_key, n + 1
    end
    if season.reached and season.members + season.aside > 0 then
      names[n + 1], n = season.reached, n + 1
    end
  end
  for id in pairs(shard.buckets) do
    names[n + 1], n = bucket_key(id), n + 1
  end
  if shard.hidden > 0 then
    names[n + 1], n = hidden_key, n + 1
  end
  if has_moves(shard) then
    names[n + 1], n = moves_key, n + 1
  end
  return names
end

-- season_damage says what of a season is not as meta says. Keys that must exist are known to; of the others a step asks
-- before it makes them, also because Redis refuses that while a cluster moves the slot, when nothing is written yet.
local function season_damage(season, whole)
  local call = redis.call
  if call('ZCARD', season.main) ~= season.members
    or (whole or season.reached) and call('HLEN', season.aside_key) ~= season.aside
    or (whole or season.members == 0) and (call('HLEN', season.segment) > 0) ~= (season.members > 0)
    or season.reached and call('HLEN', season.reached) ~= season.members + season.aside then
    return 'season ' .. season.id .. ' differs from meta'
  end
end

-- damage says what of a shard is not as its meta says; nil when it is whole. Every key that must exist is asked for each
-- time. The counts of a season are compared by the steps that reach it, and here, for audits, when the whole is asked for.
--
-- All expected keys are asked for in one command on purpose: while a cluster moves the slot, some of them are
-- on the other node, and Redis then refuses the command instead of calling them absent. That ends the script
-- with an error, where single commands would make a healthy shard look damaged.
local function damage(shard, whole)
  local call = redis.call
  local indexed = call('SCARD', KEYS[2])
  local hidden = (whole or shard.hidden > 0 or not shard.exists) and call('SCARD', hidden_key) or 0
  if not shard.exists then
    return (indexed > 0 or hidden > 0) and 'meta is missing' or nil
  end
  local names = expected_keys(shard)
  if call('EXISTS', unpack(names)) ~= #names then
    return 'a key is missing'
  end
  if indexed ~= shard.parts + 1 or hidden ~= shard.hidden then
    return 'index or hidden differs from meta'
  end
  if whole then
    for _, season in pairs(shard.seasons) do
      local wrong = season_damage(season, true)
      if wrong then
        return wrong
      end
    end
  end
  for id, count in pairs(shard.buckets) do
    if call('HLEN', bucket_key(id)) ~= count then
      return 'id memory differs from meta'
    end
  end
  return nil
end

-- open_shard returns the shard, or nil and what is wrong with it or, if asked, with the whole of it.
local function open_shard(whole)
  local shard = read_meta()
  if not shard then
    return nil, 'meta is garbled'
  end
  local wrong = damage(shard, whole)
  if wrong then
    return nil, wrong
  end
  return shard
end
