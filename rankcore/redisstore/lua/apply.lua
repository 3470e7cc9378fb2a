-- Take one step: from a position to another, with the operations in between, or change nothing at all.
-- Lua has no rollback, so this comes in three files: read everything and check it, work it out, write. Nothing can
-- fail on the data it meets once writing begins. Out of memory, Redis refuses to start the script.
--
-- ARGV: from, to, layout, to in ms, forget ids stored before (ms), bucket width (ms), dedupe (ms),
-- sign (-1: keys are negated scores), mark the shard as lost ("1"), all seasons are needed ("1"),
-- tell what moves ("1");
-- seasons: how many, then id and expiry (ms) of each;
-- season sets: how many, then the numbers of each one's seasons, 2 bytes each;
-- users: how many, then each;
-- ids: how many (none, or one for each operation), then the operation's key, "" without an id;
-- last the operations, packed: kind 1, set 2, user 2, key 8 (double), stored ms 6, digest 4 bytes, big-endian.
-- Scores are keys here: a smaller key stands first. Users are known by their numbers.
--
-- Answers "applied", lost, one byte for each outcome, what moved | "at", position, lost | "at", position, lost, the
-- position before, what moved since | "damaged", why | "miscounted", season. What moved is told when asked for.

local ARGV = ARGV -- the loops below run for every operation, and a local is found faster than a global
local call, unpack_struct, sub, tonumber = redis.call, struct.unpack, string.sub, tonumber

local CHUNK = 1000 -- values given to one command; Lua's stack takes some thousands

local from, to, layout = ARGV[1], ARGV[2], ARGV[3]
local to_ms, forget_ms, width, dedupe = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local sign, lost, all_needed, tell = tonumber(ARGV[8]), ARGV[9], ARGV[10] == '1', ARGV[11] == '1'

-- The step must fit: a whole shard, exactly at `from`, of this layout.
local shard, wrong = open_shard()
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

local cursor = 12
local function counted() -- where a list of ARGV begins, and how many it has
  local n = tonumber(ARGV[cursor])
  cursor = cursor + 1
  return cursor, n
end

-- Seasons: those the shard has, and those the operations bring.
local seasons, given = {}, {}
for _, season in pairs(shard.seasons) do
  season.needed = all_needed
  seasons[#seasons + 1] = season
end
local first, n = counted()
cursor = first + 2 * n
for i = 1, n do
  local id, expires = ARGV[first + 2 * i - 2], ARGV[first + 2 * i - 1]
  local season = shard.seasons[id]
  if not season then
    season = read_season(id, '0 0 ' .. expires .. ' none')
    season.new = true
    if call('ZCARD', season.main) + call('HLEN', season.segment) + call('HLEN', season.aside_key) > 0 then
      return { 'damaged', 'season ' .. id .. ' is not in meta' }
    end
    seasons[#seasons + 1] = season
  end
  season.needed = true
  given[i] = season
end
local sets = { [0] = {} }
first, n = counted()
cursor = first + n
for i = 1, n do
  local packed, set = ARGV[first + i - 1], {}
  for j = 1, #packed, 2 do
    set[#set + 1] = given[unpack_struct('>H', packed, j)]
  end
  sets[i] = set
end

local first_user, users = counted()
cursor = first_user + users
local first_id, ids = counted()
local packed_ops = ARGV[first_id + ids]

-- collect asks one key for n fields that stand in list from `start` on, and hands on each value with its number.
local function collect(command, key, list, start, n, found)
  for i = 0, n - 1, CHUNK do
    local values = call(command, key, unpack(list, start + i, start + math.min(i + CHUNK, n) - 1))
    for j = 1, #values do
      local value = values[j]
      if value then
        found(i + j, value)
      end
    end
  end
end

-- Read what there is of the users: who is hidden, and the scores in main or set aside.
local was_hidden, is_hidden = {}, {}
if shard.hidden > 0 then
  collect('SMISMEMBER', hidden_key, ARGV, first_user, users, function(user, yes)
    was_hidden[user], is_hidden[user] = yes == 1, yes == 1
  end)
end
for _, season in ipairs(seasons) do
  if season.needed then
    local before, now = {}, {}
    for user = 1, users do
      before[user], now[user] = false, false
    end
    local function take(user, key)
      key = tonumber(key)
      before[user], now[user] = key, key
    end
    season.before, season.now = before, now
    if season.members > 0 then
      collect('ZMSCORE', season.main, ARGV, first_user, users, take)
    end
    if season.aside > 0 then
      collect('HMGET', season.aside_key, ARGV, first_user, users, take)
    end
  end
end

-- Read what is remembered of the ids, and where.
local memory, stored_in = {}, {}
for bucket in pairs(shard.buckets) do
  collect('HMGET', bucket_key(bucket), ARGV, first_id, ids, function(i, record)
    local id = ARGV[first_id + i - 1]
    memory[id], stored_in[id] = record, bucket
  end)
end
