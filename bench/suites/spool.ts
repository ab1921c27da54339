import type { Aim, Suite, Variant } from '../harness/types.ts'

const WAYS = [
  { id: 'memory', title: 'in memory' },
  { id: 'spool', title: 'with `spoolDir`' },
] as const

const GROUPS = [
  { id: 'operations', title: 'Operations of three spans: run, step, tool call' },
  { id: 'content', title: 'The same, with content: 1 KB of arguments and result' },
  { id: 'spans', title: 'Spans of a tracer, eight attributes each' },
] as const

/** How much a process has done before it is measured. */
const AGES = [
  { id: 'young', title: 'a young process', effort: { warmups: 1, batches: 1, count: 900 } },
  { id: 'old', title: 'after 60,000 spans', effort: { warmups: 2, batches: 6, count: 30_000 } },
] as const

const TABLES = AGES.flatMap((age) =>
  GROUPS.map((group) => ({ age, group, id: `${age.id}/${group.id}`, title: `${group.title}: ${age.title}` })),
)

const variants: Variant[] = TABLES.flatMap(({ age, group, id: table, title: tableTitle }) =>
  WAYS.map(({ id, title }) => ({
    id: `${table}/${id}`,
    title,
    group: tableTitle,
    effort: age.effort,
    load: async () => (await import('./spool-ways.ts')).workload(group.id, id),
  })),
)

const aims: Aim[] = TABLES.map(({ id, title }) => ({
  text: `${title}: with \`spoolDir\`, over memory alone`,
  measure: (of) => (of(`${id}/spool`) ?? Number.NaN) / (of(`${id}/memory`) ?? Number.NaN),
  atMost: 1.5,
  unit: 'x',
}))

export const spool: Suite = {
  id: 'spool',
  title: 'Spans on disk until they are delivered',
  notes: [
    'Microseconds of processor time per span, all that its process does for it: made, kept, encoded, and taken by a collector, which is another process on the same machine and counts. With `spoolDir` each span is written to disk when it starts and when it ends, before whoever ends it goes on; what is delivered is removed.',
    'The folder is on the disk of the machine, not in memory. Nothing is synced: a process that is killed loses nothing, a machine that loses power may.',
    'A young process has made 900 spans before 900 are measured: as many as 300 runs of the first table have.',
    'A batch is 30,000 spans, half a minute at 1,000 a second, and what the garbage collector does meanwhile is in the figures: in batches of 6,000, which were measured until November 2026, it did its work between them.',
  ],
  unit: 'us',
  clock: 'cpu',
  rounds: 7,
  effort: AGES[1].effort,
  baselines: [{ title: 'x memory', of: (id) => `${id.slice(0, id.lastIndexOf('/'))}/memory` }],
  variants,
  aims,
  sameProof: TABLES.map(({ id }) => ({ key: 'spans', ids: WAYS.map((way) => `${id}/${way.id}`) })),
}
