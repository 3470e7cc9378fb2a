-- Take one step: from a position to another, with the operations in between, or change nothing at all.
-- Lua has no rollback, so this comes in files: read everything and check it, work it out, write. Nothing can
-- fail on the data it meets once writing begins. Out of memory, Redis refuses to start the script.
--
-- ARGV: from, to, layout; then packed strings, little-endian, because Redis makes a Lua value of each of its
-- arguments, at a price:
--   head       to in ms, forget ids stored before (ms), bucket width (ms), dedupe (ms), sign (-1: keys are negated
--              scores), as doubles; how many operations, 2 bytes; 1 or 0: mark the shard as lost, all seasons are
--              needed, tell what moves, operations have ids, some of them have the same one
--   seasons    of each the length of its id, its id, its expiry in ms as a double, 0 for never
--   sets       season sets: of each how many seasons it has, then their numbers, 2 bytes each
--   runs       of operations stored at the same time: how many (2 bytes), that time in ms as a double
--   operations the kinds (1 byte, 128 more for one with an id), the numbers of their users (2 bytes), their keys
--              (doubles), when there is more than one season set, the numbers of theirs (2 bytes), and where ties go
--              by arrival that (8 bytes, big-endian)
--   ids        of each operation its name in the id memory (12 bytes), then of each what that keeps of it once it is
--              applied (11 bytes), or nothing
--   users      in parts: a format for struct.unpack, what it unpacks
-- Scores are keys here: a smaller key stands first. Users are known by their numbers.
--
-- Answers "applied", lost, one byte for each outcome, what moved | "at", position, lost | "at", position, lost, the
-- position before, what moved since | "damaged", why | "miscounted", season. What moved is told when asked for.

local ARGV = ARGV -- the loops below run for every operation, and a local is found faster than a global
local call, unpack_struct, pack, rep, tonumber = redis.call, struct.unpack, struct.pack, string.rep, tonumber
local unpack, min, floor, abs, sub, format = unpack, math.min, math.floor, math.abs, string.sub, string.format

local CHUNK = 1000 -- values given to one command; Lua's stack takes some thousands

local from, to, layout = ARGV[1], ARGV[2], ARGV[3]
local to_ms, forget_ms, width, dedupe, sign, n_ops, lost, all_needed, tell, with_ids, repeated = unpack_struct('<dddddHBBBBB', ARGV[4])
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

-- Read what is remembered of the ids, and where. Nearly always that is nothing, and then nobody looks there again.
local ids = with_ids and numbers('c12', 12, ARGV[9], 1, n_ops)
local memory, stored_in, remembered = {}, {}, repeated
for bucket in pairs(with_ids and shard.buckets or {}) do
  local records = ask('HMGET', bucket_key(bucket), ids)
  for i = 1, n_ops do
    if records[i] then
      memory[ids[i]], stored_in[ids[i]], remembered = records[i], bucket, true
    end
  end
end
