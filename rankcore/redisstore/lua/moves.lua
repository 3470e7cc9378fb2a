-- What the step moves, for whoever keeps counts of the members at each key, as one string: of each season that
-- changes the length of its id, its id, and how many moves there are (4 bytes) or RETIRED; then of each move the old
-- key and the new one as doubles, NO_KEY for none. The last step's stay in the shard, for a caller whose answer was
-- lost, unless there are too many.

local MAX_KEPT = 32768 -- bytes
local RETIRED = 4294967295

local moves, moves_kept = '', false
if tell then
  local parts = {}
  for _, season in ipairs(seasons) do
    local list = season.over and {} or season.moves or {}
    local n = #list
    if season.over and not season.new or n > 0 then
      parts[#parts + 1] = pack('<BI4', #season.id, season.over and RETIRED or n / 2) .. season.id
      for i = 1, n, CHUNK do
        local m = min(CHUNK, n - i + 1)
        parts[#parts + 1] = pack('<' .. rep('d', m), unpack(list, i, i + m - 1))
      end
    end
  end
  moves = table.concat(parts)
  moves_kept = #moves <= MAX_KEPT
  if moves_kept and #moves > 0 and not has_moves(shard) then
    call('EXISTS', moves_key) -- while a cluster moves the slot, Redis refuses this before anything is written
  end
end
