-- Segments of scores, told from keys: exact up to 64, then 64 for each power of two, mirrored around zero.
-- With sign 1 a key is its own score; with -1 it is the negated one.

local frexp = math.frexp

local function segment(key, sign)
  local v = key < 0 and -key or key
  if v >= 64 then
    local m, e = frexp(v)
    m = m * 128
    v = (e - 7) * 64 + m - m % 1
  end
  return sign * key < 0 and -v or v
end
