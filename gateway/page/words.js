// What the page says, in both languages. A text with values is a function of them.

const en = {
  locale: 'en',
  skip: 'Skip to the ranking',
  board: 'Board',
  season: 'Season',
  seasons: { all: 'All time', day: 'Today', week: 'This week', month: 'This month' },
  top: 'Top',
  rank: 'Rank',
  player: 'Player',
  score: 'Score',
  total: (n, ends) => `${n} ranked${ends ? ` · ends in ${ends}` : ''}`,
  mine: 'My rank',
  who: 'Player id',
  find: 'Look up',
  api: 'API description',
  health: 'Health',
  statuses: { loading: 'Loading', fresh: 'Live', stale: 'Stale', partial: 'Partial', updating: 'Updating', offline: 'No connection' },
  reasons: {
    core_slow: 'the core is slow',
    core_down: 'the core does not answer',
    log_unreachable: 'the log cannot be reached',
    applier_behind: 'scores are still being taken in',
    shard_rebuilding: 'a part of the board is being rebuilt',
    snapshot: 'from the last snapshot',
  },
  now: 'as of now',
  ago: (time) => `as of ${time} ago`,
  empty: 'Nobody has a score in this season yet.',
  updating: 'The ranking is being updated. It will be here in a moment.',
  offline: 'The server does not answer. What you see is the last known ranking; trying again.',
  noBoards: 'No board could be loaded. Trying again.',
  notRanked: (user) => `${user} has no score in this season.`,
  badUser: 'That cannot be a player id.',
  rankOf: (total) => `of ${total}`,
  between: (low, high) => `An estimate: between ${low} and ${high}`,
  exact: (tied) => (tied > 1 ? `Exact, shared by ${tied}` : 'Exact'),
  ahead: (percent) => `Ahead of ${percent} of the others`,
  points: (score) => `Score ${score}`,
};

const zh = {
  locale: 'zh-CN',
  skip: '跳到排行榜',
  board: '榜单',
  season: '赛季',
  seasons: { all: '总榜', day: '今日', week: '本周', month: '本月' },
  top: '排行榜',
  rank: '名次',
  player: '玩家',
  score: '分数',
  total: (n, ends) => `共 ${n} 人上榜${ends ? ` · ${ends}后结束` : ''}`,
  mine: '我的排名',
  who: '玩家 ID',
  find: '查询',
  api: '接口说明',
  health: '健康状态',
  statuses: { loading: '加载中', fresh: '实时', stale: '稍旧', partial: '部分', updating: '更新中', offline: '连接中断' },
  reasons: {
    core_slow: '核心响应缓慢',
    core_down: '核心没有响应',
    log_unreachable: '无法连接日志',
    applier_behind: '分数仍在写入',
    shard_rebuilding: '部分数据正在重建',
    snapshot: '来自最近的快照',
  },
  now: '刚刚更新',
  ago: (time) => `${time}前的数据`,
  empty: '本赛季还没有人上榜。',
  updating: '排行榜正在更新，请稍候。',
  offline: '服务器没有响应。当前显示最近一次的排行，正在重试。',
  noBoards: '无法加载榜单，正在重试。',
  notRanked: (user) => `${user} 在本赛季还没有分数。`,
  badUser: '这不是有效的玩家 ID。',
  rankOf: (total) => `共 ${total} 人`,
  between: (low, high) => `估计值：在第 ${low} 到第 ${high} 名之间`,
  exact: (tied) => (tied > 1 ? `精确名次，${tied} 人并列` : '精确名次'),
  ahead: (percent) => `领先 ${percent} 的其他玩家`,
  points: (score) => `分数 ${score}`,
};

const languages = { en, zh };
const remembered = 'rankgate.language';

// language is the one chosen before, else the browser's.
export function language() {
  const chosen = storage((kept) => kept.getItem(remembered));
  if (languages[chosen]) return chosen;
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

export function remember(name) {
  storage((kept) => kept.setItem(remembered, name));
}

// storage calls use with what the browser keeps for this page. One that keeps nothing throws already when it is asked.
function storage(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}

export function words(name) {
  return languages[name];
}
