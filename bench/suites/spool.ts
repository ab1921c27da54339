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

const variants: Variant[] = GROUPS.flatMap(({ id: group, title: groupTitle }) =>
  WAYS.map(({ id, title }) => ({
    id: `${group}/${id}`,
    title,
    group: groupTitle,
    load: async () => (await import('./spool-ways.ts')).workload(group, id),
  })),
)

const aims: Aim[] = GROUPS.map(({ id, title }) => ({
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
    'A batch is 30,000 spans, half a minute at 1,000 a second, and what the garbage collector does meanwhile is in the figures: in batches of 6,000, which were measured until November 2026, it did its work between them.',
  ],
  unit: 'us',
  clock: 'cpu',
  rounds: 7,
  effort: { warmups: 2, batches: 6, count: 30_000 },
  baselines: [{ title: 'x memory', of: (id) => `${id.split('/')[0]}/memory` }],
  variants,
  aims,
  sameProof: GROUPS.map(({ id }) => ({ key: 'spans', ids: WAYS.map((way) => `${id}/${way.id}`) })),
}
