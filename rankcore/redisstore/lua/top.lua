-- The first rows. ARGV from reading, then: how many. Answers "ok", changed, members, {user, key, ...}.

local rows = {}
if ARGV[3] ~= '0' then
  rows = redis.call('ZRANGE', KEYS[2], '0', string.format('%.0f', ARGV[3] - 1), 'WITHSCORES')
end
return { 'ok', changed, members, rows }
