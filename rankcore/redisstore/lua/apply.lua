-- Take one step: from a position to another, with the operations in between, or change nothing at all.
-- Lua has no rollback, so this comes in files: read everything and check it, work it out, write. Nothing can
-- fail on the data it meets once writing begins. Out of memory, Redis refuses to start the script.
--
-- ARGV: from, to, layout; then packed strings, little-endian, because Redis makes a Lua value of each of its
-- arguments, at a price:
--   head       to in ms, forget ids stored before (ms), bucket width (ms), dedupe (ms), when the first of the
--              operations was stored (ms), sign (-1: keys are negated scores), as doubles; how many operations, 2 bytes; 1 or 0: mark the shard as lost, all seasons are
--              needed, tell what moves, operations have ids, some of them have the same one
--   seasons    of each the length of its id, its id, its expiry in ms as a double, 0 for never
--   sets       season sets: of each how many seasons it has, then their numbers, 2 bytes each
--   runs       of operations stored at the same time: how many (2 bytes), that time in ms as a double
--   operations the kinds (1 byte, 128 more for one with an id), the numbers of their users (2 bytes), their keys
--              (doubles), when there is more than one season set, the numbers of theirs (2 bytes), and where ties go
--              by arrival that (8 bytes, big-endian)
--   ids        of each operation its name in the id memory (12 bytes), then of each what that keeps of it once it is
--              applied (6 bytes), or nothing
--   users      in parts: a format for struct.unpack, what it unpacks
-- Scores are keys here: a smaller key stands first. Users are known by their numbers.
--
-- Answers "applied", lost, one byte for each outcome, what moved | "at", position, lost | "at", position, lost, the
-- position before, what moved since | "damaged", why | "miscounted", season. What moved is told when asked for.

local ARGV = ARGV -- the loops below run for every operation, and a local is found faster than a global
local call, unpack_struct, pack, rep, tonumber = redis.call, struct.unpack, struct.pack, string.rep, tonumber
local unpack, min, max, floor, abs = unpack, math.min, math.max, math.floor, math.abs
local sub, byte, char, format = string.sub, string.byte, string.char, string.format

local CHUNK = 1000 -- values given to one command; Lua's stack takes some thousands

local from, to, layout = ARGV[1], ARGV[2], ARGV[3]
local to_ms, forget_ms, width, dedupe, first_ms, sign, n_ops, lost, all_needed, tell, with_ids, repeated =
  unpack_struct('<ddddddHBBBBB', ARGV[4])
lost, all_needed, tell, with_ids, repeated = lost == 1, all_needed == 1, tell == 1, with_ids == 1, repeated == 1

-- The step must fit: a whole shard, exactly at `from`, of this layout.
local shard, wrong = open_shard(n_ops == 0)
if not shard then
  return { 'damaged', wrong }
end
if shard.position ~= from then
  if tell and shard.moves then
    local moves = has_moves(shard) and redis.pcall('GET', moves_key) or ''
    if type(moves) == 'string' then -- else it is no string: the next step will make it one
      return { 'at', shard.position, shard.lost, string.match(shard.moves, '^%S+'), moves }
    end
  end
  return { 'at', shard.position, shard.lost }
end
if shard.exists and shard.layout ~= layout then
  return redis.error_reply('LAYOUT the shard was created as ' .. tostring(shard.layout) .. ', the board is ' .. layout)
end

local by_arrival = is_first(layout)

-- numbers is n values of a format and size that begin at a byte of a packed string.
local function numbers(of, size, packed, at, n)
  local list = {}
  for i = 0, n - 1, CHUNK do
    local m = min(CHUNK, n - i)
    local part = { unpack_struct('<' .. rep(of, m), packed, at + i * size) }
    part[m + 1] = nil -- where the next one begins
    if n <= CHUNK then
      return part
    end
    for j = 1, m do
      list[i + j] = part[j]
    end
  end
  return list
end

-- ask asks one key for each value of a list, and returns what it answers to each.
local function ask(command, key, list)
  local n = #list
  if n <= CHUNK then
    return n > 0 and call(command, key, unpack(list)) or {}
  end
  local answers = {}
  for i = 1, n, CHUNK do
    local part = call(command, key, unpack(list, i, min(i + CHUNK - 1, n)))
    for j = 1, #part do
      answers[i + j - 1] = part[j]
    end
  end
  return answers
end

-- Seasons: those the shard has, and those the operations bring.
local seasons, given = {}, {}
for _, season in pairs(shard.seasons) do
  season.needed = all_needed
  seasons[#seasons + 1] = season
end
local at, packed = 1, ARGV[5]
while at <= #packed do
  local id, expires
  id, expires, at = unpack_struct('<Bc0d', packed, at)
  local season = shard.seasons[id]
  if not season then
    season = read_season(id, format('0 0 %d none', expires), by_arrival)
    season.new = true
    seasons[#seasons + 1] = season
  end
  season.needed = true
  given[#given + 1] = season
end

local users = {}
for i = 10, #ARGV, 2 do
  local part = { unpack_struct(ARGV[i], ARGV[i + 1]) }
  part[#part] = nil -- where the string ends
  if #users == 0 then
    users = part
  else
    for j = 1, #part do
      users[#users + 1] = part[j]
    end
  end
end
local n_users = #users

-- Read what there is of the users: who is hidden, and the scores in main or set aside.
local was_hidden, is_hidden = {}, {}
if shard.hidden > 0 then
  local hidden = ask('SMISMEMBER', hidden_key, users)
  for user = 1, n_users do
    if hidden[user] == 1 then
      was_hidden[user], is_hidden[user] = true, true
    end
  end
end

-- read_reached reads the scores and arrivals of a season whose ties go by arrival.
local function read_reached(season)
  local reached, before, now, arrived_before, arrived = ask('HMGET', season.reached, users), {}, {}, {}, {}
  for user = 1, n_users do
    local arrival, key = false, false
    if reached[user] then
      arrival, key = unpack_struct('>c8d', reached[user])
    end
    before[user], now[user], arrived_before[user], arrived[user] = key, key, arrival, arrival
  end
  season.before, season.now, season.arrived_before, season.arrived = before, now, arrived_before, arrived
end

local function read_scores(season)
  local before, now = season.members > 0 and ask('ZMSCORE', season.main, users) or {}, {}
  local aside = season.aside > 0 and ask('HMGET', season.aside_key, users)
  for user = 1, n_users do
    local key = before[user] or aside and aside[user] or false
    key = key and key + 0 -- a string until here
    before[user], now[user] = key, key
  end
  season.before, season.now = before, now
end

for _, season in ipairs(seasons) do
  if season.needed then
    local wrong = n_ops > 0 and season_damage(season)
    if wrong then
      return { 'damaged', wrong }
    end
    if by_arrival then
      read_reached(season)
    else
      read_scores(season)
    end
  end
end

-- The scores that a set of seasons has, season by season, and the arrivals where ties go by them.
local sets = {}
at, packed = 1, ARGV[6]
while at <= #packed do
  local set, n = { arrived = {} }, nil
  n, at = unpack_struct('<H', packed, at)
  for i = 1, n do
    local season
    season, at = unpack_struct('<H', packed, at)
    set[i], set.arrived[i] = given[season].now, given[season].arrived
  end
  sets[#sets + 1] = set
end

-- What the id memory must be told, by bucket: records to set, and ids that stand in another bucket now.
local changes = {}
local function changes_of(bucket)
  local change = changes[bucket]
  if not change then
    change = { bucket = bucket, set = {}, gone = {}, count = shard.buckets[bucket] or 0, new = not shard.buckets[bucket] }
    changes[bucket] = change
  end
  return change
end

local function forget(id, bucket)
  local change = changes_of(bucket)
  if not change.gone[id] then
    change.gone[id], change.count = true, change.count - 1
  end
end

-- Read what is remembered of the ids: when their operations were stored, what of their digests, and where. Nearly always
-- that is nothing, and then nobody looks there again. A bucket is not asked when all it has lies beyond the horizon of all
-- operations; so it may still have an id when that gets a later record elsewhere. The later one counts, and the older
-- one goes when it is met.
local ids = with_ids and numbers('c12', 12, ARGV[9], 1, n_ops)
local stored, digests, digest_spans, stored_in, remembered = {}, {}, {}, {}, repeated
local bucket_ends = {}
for bucket in pairs(shard.buckets) do
  local starts, bucket_width = bucket_span(bucket)
  bucket_ends[bucket] = starts + bucket_width
  if with_ids and bucket_ends[bucket] + dedupe > first_ms then
    local records = ask('HMGET', bucket_key(bucket), ids)
    for i = 1, n_ops do
      local id = records[i] and ids[i]
      if id and stored_in[id] ~= bucket then -- it may stand in the step twice
        local ms, digest, span = read_record(records[i], starts, bucket_width)
        local older = stored[id] and (stored[id] < ms and stored_in[id] or bucket)
        if older then
          forget(id, older)
        end
        if older ~= bucket then
          stored[id], digests[id], digest_spans[id], stored_in[id], remembered = ms, digest, span, bucket, true
        end
      end
    end
  end
end
