-- What the step moves, for whoever keeps counts of the members at each key, as one string: of each season that
-- changes the length of its id, its id, and how many moves there are (4 bytes) or RETIRED; then of each move the old
-- key and the new one as doubles, NO_KEY for none. The last step's stay in the shard, for a caller whose answer was
-- lost, unless there are too many.

local MAX_KEPT = 32768 -- bytes
local RETIRED = '\255\255\255\255'

local pack = struct.pack

local function packed_moves(season)
  local parts, moves = { pack('>I4', #season.moves / 2) }, season.moves
  local format = '>' .. string.rep('d', CHUNK)
  for i = 1, #moves, CHUNK do
    local last = math.min(i + CHUNK - 1, #moves)
    if last < i + CHUNK - 1 then
      format = '>' .. string.rep('d', last - i + 1)
    end
    parts[#parts + 1] = pack(format, unpack(moves, i, last))
  end
  return table.concat(parts)
end

local moves, moves_kept = '', false
if tell then
  local parts = {}
  for _, season in ipairs(seasons) do
    local told
    if season.over then
      told = not season.new and RETIRED
    else
      told = season.needed and #season.moves > 0 and packed_moves(season)
    end
    if told then
      parts[#parts + 1] = string.char(#season.id) .. season.id .. told
    end
  end
  moves = table.concat(parts)
  moves_kept = #moves <= MAX_KEPT
  if moves_kept and #moves > 0 and not has_moves(shard) then
    call('EXISTS', moves_key) -- while a cluster moves the slot, Redis refuses this before anything is written
  end
end
