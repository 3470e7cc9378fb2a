-- The season's members by segment. KEYS: meta, main, segment. Answers "ok", changed, members, {segment, members, ...}.

return { 'ok', changed, members, redis.call('HGETALL', KEYS[3]) }
