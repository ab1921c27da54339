import type { Suite, Variant, Workload } from '../harness/types.ts'

const own = (name: keyof typeof import('./tool-call-ways.ts')) => async (): Promise<Workload> =>
  (await import('./tool-call-ways.ts'))[name]()

const variants: Variant[] = [
  { id: 'bare', title: 'the tool alone', load: own('bare') },
  { id: 'untraced', title: '**hookspan** without tracing', load: own('untraced') },
  { id: 'hand', title: 'span written by hand', load: own('hand') },
  { id: 'hookspan', title: '**hookspan** `step.toolCall`, traced', load: own('hookspan') },
  {
    id: 'hookspan-hook',
    title: '**hookspan**, traced, with an `afterToolCall` hook',
    load: own('hookspanWithHook'),
  },
  {
    id: 'hand-content',
    title: 'span written by hand, arguments and result as JSON',
    load: own('handWithContent'),
  },
  {
    id: 'hookspan-content',
    title: '**hookspan**, traced, `captureContent`',
    load: own('hookspanWithContent'),
  },
]

export const toolCall: Suite = {
  id: 'tool-call',
  title: 'One traced tool call',
  notes: [
    'Microseconds per call of an asynchronous tool that answers with an object of about 1 KB, inside a step that is open. The span written by hand carries the same attributes and ends in the same SDK (OpenTelemetry SDK 3, a processor that counts and drops): `startActiveSpan`, attributes, `try`/`catch`, status, `end`. What it does not have: gates, mocks, hooks, an outcome instead of a throw.',
  ],
  unit: 'us',
  clock: 'wall',
  rounds: 5,
  effort: { warmups: 5, batches: 25, count: 10_000 },
  baselines: [
    { title: 'x by hand', of: (id) => (id.endsWith('-content') ? 'hand-content' : 'hand') },
    {
      title: 'x by hand, over the tool alone',
      of: (id) => (id.endsWith('-content') ? 'hand-content' : 'hand'),
      floor: () => 'bare',
    },
  ],
  variants,
  aims: [
    {
      text: 'traced tool call, over the span written by hand',
      measure: (of) => (of('hookspan') ?? Number.NaN) / (of('hand') ?? Number.NaN),
      atMost: 1.15,
      unit: 'x',
    },
    {
      text: 'the same with content',
      measure: (of) => (of('hookspan-content') ?? Number.NaN) / (of('hand-content') ?? Number.NaN),
      atMost: 1.15,
      unit: 'x',
    },
  ],
  sameProof: [
    { key: 'span', ids: ['hand', 'hookspan', 'hookspan-hook'] },
    { key: 'span', ids: ['hand-content', 'hookspan-content'] },
  ],
}
