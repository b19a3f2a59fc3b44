// Words that people use for what tools call otherwise. A word of a query also finds the others of its line, for less.

/** Different words for one thing: the search reads each of a line as the first. */
const SAME = `
  kubernetes k8s kubectl
  repository repo
  pull-request pr
  merge-request mr
  email mail
  database db
  postgres postgresql pg
  mongo mongodb
  javascript js
  typescript ts
  image picture photo
  directory folder
  delete remove erase
  web internet website
  configuration config settings
  documentation docs
  event appointment meeting
  calendar agenda
  user people person
  video clip
  bulk batch multiple several many
  identifier id
`;

/** Words that may mean the same, one meaning a line. */
const NEAR = `
  create make new add insert start open file submit put build generate
  delete drop wipe destroy clear discard throw out cancel trash forget
  update change edit modify set alter mark reschedule
  move relocate transfer put archive rename
  list show all display enumerate exist which search get see
  get read fetch retrieve view see look open details content show download text
  search find look lookup query locate list
  send post write say deliver share
  type write enter fill input
  reply answer respond comment
  respond accept decline rsvp invitation attendee
  copy duplicate clone fork
  merge accept land combine
  run execute invoke perform launch trigger start kick evaluate
  stop kill end terminate abort
  retry rerun restart again repeat
  save store keep export remember record
  commit save change version
  undo revert rollback rollout restore back
  stash shelve aside later wip
  checkout switch
  later tomorrow schedule planned
  forward pass share
  resolve close done fix complete update
  approve accept review feedback
  mute silence quiet suppress
  downtime maintenance outage silence
  install deploy release
  shell terminal exec bash command
  compute calculate math
  select pick choose item dropdown menu option
  label tag category folder mailbox
  mark flag unread
  filter rule criteria
  issue ticket bug problem task error
  comment note feedback discussion thread
  thread conversation discussion
  attachment attached file
  document record row entry
  data row query table
  block paragraph text section
  child content block append
  crash error exception failure fail break
  log output trace
  metric usage cpu chart plot timeseries
  incident outage
  monitor watch live activity alert
  flaky unstable random intermittent
  artifact output produce
  status state pass check progress
  latest recent current newest last
  screenshot capture image
  replay recording session
  navigate visit open go page url site
  click press tap button
  hover mouse
  dialog popup confirm alert
  resize size viewport
  network http request call traffic
  tab window
  wait until pause
  evaluate script javascript
  permission access grant role privilege
  user role account member who
  member belong who
  team group organization workspace
  performance slow explain optimize profile tune analyze speed
  index speed fast lookup
  constraint foreign key unique
  aggregate sum group count average
  schema column structure
  export dump backup csv
  import load upload
  freebusy free busy available
  directions route drive trip way
  plan shortest optimize
  geocode coordinate latitude position
  elevation altitude height
  place restaurant shop nearby around
  pollution pollute quality
  forecast weather rain temperature warm tomorrow
  historical history past last previous
  alert warning storm
  marine sea wave ocean
  news headline article
  random password generate
  hash checksum sha256 md5
  convert unit mile kilometer transform
  decode inside parse
  job process task background
  node drain cordon
  forward port localhost
  describe details events
  scale replicas number
  relation link relationship connect
  entity thing object node
  emoji reaction thumb
  symbol variable function identifier
  definition declare define
  blame author wrote
  reference usage call caller
  diagnostics error warning type
  check compile build lint
  grep line regex text code
  dsn key token credential secret
  draft prepare
  email message
  memory fact knowledge observation
  todo checklist plan
  push upload publish
  restore discard recover
  contact address
  pod container resource kubernetes
  context connect current
  diff compare difference
  host machine server
  sync latest update
`;

/** How the search reads words. */
export interface Synonyms {
  /** The stems that stand for this one, where others are read for it. */
  readonly same: ReadonlyMap<string, string[]>;
  /** The stems that may mean the same. */
  readonly near: ReadonlyMap<string, ReadonlySet<string>>;
}

let synonyms: Synonyms | undefined;

/** The synonyms, by stem. */
export function synonymsBy(stemOf: (word: string) => string): Synonyms {
  return (synonyms ??= tablesOf(stemOf));
}

function tablesOf(stemOf: (word: string) => string): Synonyms {
  const same = new Map<string, string[]>();
  for (const [first = '', ...others] of linesOf(SAME))
    for (const other of others) same.set(stemOf(other), first.split('-').map(stemOf));
  const near = new Map<string, Set<string>>();
  for (const line of linesOf(NEAR)) {
    const stems = line.flatMap((word) => same.get(stemOf(word)) ?? stemOf(word));
    for (const stem of stems) {
      const others = near.get(stem) ?? new Set<string>();
      for (const other of stems) if (other !== stem) others.add(other);
      near.set(stem, others);
    }
  }
  return { same, near };
}

function linesOf(table: string): string[][] {
  return table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(' '));
}
