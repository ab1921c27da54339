import type { Suite, Variant, Workload } from '../harness/types.ts'
import type { Channel, Listener, MakeChannel } from './dispatch-channel.ts'
import { type EventForm, FORMS } from './dispatch-events.ts'

interface Way {
  readonly id: string
  readonly title: string
  readonly peer?: boolean
  /** Where it makes a difference. */
  readonly forms?: readonly string[]
  make(): Promise<MakeChannel>
}

/** What the listeners are. */
const LOADS = [
  { id: 'none', title: 'no listener', count: 0, async: false },
  { id: 'one', title: 'one synchronous', count: 1, async: false },
  { id: 'async', title: 'one asynchronous', count: 1, async: true },
  { id: 'ten', title: 'ten synchronous', count: 10, async: false },
] as const
type Load = (typeof LOADS)[number]

/** Events between two waits for asynchronous listeners; below every default bound of a queue. */
const BURST = 100

const own = async () => (await import('./dispatch-own.ts')).channels
/** By an address, because the main type check runs without the peers. */
const PEERS = new URL('../peers/dispatch.ts', import.meta.url).href
const peers = async () => (await import(PEERS)).channels as Record<string, MakeChannel>
const of = async (channels: Promise<Record<string, MakeChannel>>, name: string) => (await channels)[name]!

const WAYS: readonly Way[] = [
  { id: 'floor', title: 'floor: stamped by hand, `EventEmitter.emit`', make: () => of(own(), 'floor') },
  {
    id: 'floor-copies',
    title: 'floor that makes the same promise: each listener its own copy of all objects',
    forms: ['tool'],
    make: () => of(own(), 'floor-copies'),
  },
  { id: 'hookspan', title: '**hookspan** `dispatch`', make: () => of(own(), 'hookspan') },
  { id: 'emitter', title: '`EventEmitter.emit`, not stamped', make: () => of(own(), 'emitter') },
  { id: 'channel', title: '`diagnostics_channel`, not stamped', make: () => of(own(), 'channel') },
  { id: 'tapable', title: '`tapable`, not stamped', peer: true, make: () => of(peers(), 'tapable') },
  {
    id: 'hookable',
    title: '`hookable.callHook`, not stamped',
    peer: true,
    make: () => of(peers(), 'hookable'),
  },
  { id: 'emittery', title: '`emittery.emit`, not stamped', peer: true, make: () => of(peers(), 'emittery') },
]

function workload(
  channel: Channel,
  form: EventForm,
  load: Load,
  seen: { count: number; sum: number },
): Workload {
  // Where nobody listens the engine would not even make the object; so all get the same one.
  const unheard = form.init(0)
  const init = load.count === 0 ? () => unheard : form.init
  let fired = 0
  const run =
    load.async || channel.deferred
      ? async (count: number) => {
          for (let i = 0; i < count; i++) {
            channel.fire(init(fired++))
            if (i % BURST === BURST - 1) await channel.settled()
          }
          await channel.settled()
        }
      : (count: number) => {
          for (let i = 0; i < count; i++) channel.fire(init(fired++))
        }
  return {
    run,
    verify(total) {
      const wanted = { count: total * load.count, sum: ((total * (total - 1)) / 2) * load.count }
      if (seen.count !== wanted.count || seen.sum !== wanted.sum) {
        throw new Error(`Listeners saw ${JSON.stringify(seen)} instead of ${JSON.stringify(wanted)}.`)
      }
      return { eventsSeen: seen.count }
    },
  }
}

function groupOf(form: EventForm, load: Load): string {
  return `${form.title}, ${load.title}`
}

function variantsOf(form: EventForm): Variant[] {
  const regular = LOADS.flatMap((load) =>
    WAYS.filter(({ forms }) => forms?.includes(form.id) ?? true).map(({ id, title, peer, make }) => ({
      id: `${form.id}/${load.id}/${id}`,
      title,
      group: groupOf(form, load),
      ...(peer && { peer }),
      load: async () => {
        const seen = { count: 0, sum: 0 }
        const note = (event: object) => {
          seen.count++
          seen.sum += (event as { index: number }).index
        }
        const listener = (): Listener => (load.async ? async (event) => note(event) : (event) => note(event))
        const listeners = Array.from({ length: load.count }, listener)
        return workload(await (await make())(listeners, form), form, load, seen)
      },
    })),
  )
  const unheard: Variant = {
    id: `${form.id}/none/hookspan-other`,
    title: '**hookspan** `dispatch`, only a hook of another type',
    group: groupOf(form, LOADS[0]),
    load: async () => {
      const channel = await (await of(own(), 'hookspan-other'))([], form)
      return workload(channel, form, LOADS[0], { count: 0, sum: 0 })
    },
  }
  return [...regular, unheard]
}

export const dispatch: Suite = {
  id: 'dispatch',
  title: 'Handing one event to its listeners',
  notes: [
    'Nanoseconds per event, making the event object included, except where nobody listens. hookspan and the floor stamp each event (type, operation, sequence, time, schema version); the libraries pass the bare object on.',
    '`floor` spreads the object, adds type, operation id, sequence and `Date.now()`, and emits the result on an `EventEmitter`: what one writes by hand to get the same event.',
    'The second floor gives each listener a deep copy of every object in the event, whatever the field is called, made by the few lines that one writes for plain data, as hookspan does for each hook.',
    'The flat event has four scalars; the tool event has eleven fields, arguments and result among them, of which hookspan gives each hook a copy of its own.',
    `Asynchronous listeners get bursts of ${BURST} events, then are waited for. With no listener, hookspan and hookable were never told of the operation or hook.`,
  ],
  unit: 'ns',
  clock: 'wall',
  rounds: 3,
  effort: { warmups: 4, batches: 11, count: 100_000 },
  baselines: [
    { title: 'x floor', of: (id) => id.replace(/[^/]+$/, 'floor') },
    {
      title: 'x floor with copies',
      of: (id) => (id.startsWith('tool/') ? id.replace(/[^/]+$/, 'floor-copies') : undefined),
    },
    { title: 'x hookable', of: (id) => id.replace(/[^/]+$/, 'hookable') },
  ],
  variants: FORMS.flatMap(variantsOf),
  aims: FORMS.flatMap((form) => [
    ...(form.id === 'tool'
      ? [
          {
            text: `${form.title}: one synchronous hook, over the floor that makes the same promise`,
            measure: (of: (id: string) => number | undefined) =>
              ratio(of('tool/one/hookspan'), of('tool/one/floor-copies')),
            atMost: 1.2,
            unit: 'x',
          },
        ]
      : []),
    {
      text: `${form.title}: one synchronous hook, over the hand-stamped floor`,
      measure: (of) => ratio(of(`${form.id}/one/hookspan`), of(`${form.id}/one/floor`)),
      atMost: 1.3,
      unit: 'x',
    },
    {
      text: `${form.title}: one synchronous hook, over \`hookable.callHook\``,
      measure: (of) => ratio(of(`${form.id}/one/hookspan`), of(`${form.id}/one/hookable`)),
      atMost: 0.3,
      unit: 'x',
    },
    ...['hookspan', 'hookspan-other'].map((id) => ({
      text: `${form.title}: no hook (${id === 'hookspan' ? 'unknown operation' : 'hooks of another type only'})`,
      measure: (of: (id: string) => number | undefined) => of(`${form.id}/none/${id}`),
      atMost: 15,
      unit: 'ns',
    })),
  ]),
}

function ratio(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b
}
