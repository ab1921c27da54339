/** What a model was sent, by whom: of one call as a bar, of all calls as a line of bars. */
import { useMemo } from 'preact/hooks'
import { CHARS_PER_TOKEN } from '../../src/viewer/model/context-size.ts'
import type { StepItem } from '../../src/viewer/model/conversation-items.ts'
import { formatCount } from '../../src/viewer/model/format.ts'
import { Text } from './parts.tsx'

/** Tools with a colour of their own; the others have the last one. */
const TOOLS = 3
const HEIGHT = 30
/** As many bars as a wide window has room for; of more steps, the largest of some neighbours stands for them. */
const BARS = 240

const WORDS: Readonly<Record<string, string>> = {
  system: 'system',
  user: 'user',
  assistant: 'assistant',
  tools: 'tools offered',
  other: 'other',
}

/** The kinds of which there is most, in the order in which they are stacked, each with its colour. */
function kindsOf(all: readonly Record<string, number>[]): { kind: string; look: string }[] {
  const sums = new Map<string, number>()
  for (const chars of all)
    for (const [kind, count] of Object.entries(chars)) sums.set(kind, (sums.get(kind) ?? 0) + count)
  const tools = [...sums.keys()]
    .filter((kind) => kind.startsWith('tool') && kind !== 'tools')
    .sort((a, b) => sums.get(b)! - sums.get(a)!)
  const roles = ['tools', 'system', 'user', 'assistant'].filter((kind) => sums.has(kind))
  const rest = [...sums.keys()].filter((kind) => !roles.includes(kind) && !tools.includes(kind))
  return [
    ...roles.map((kind) => ({ kind, look: kind })),
    ...tools.map((kind, at) => ({ kind, look: `tool-${Math.min(at, TOOLS - 1)}` })),
    ...rest.map((kind) => ({ kind, look: 'other' })),
  ]
}

const wordOf = (kind: string): string =>
  WORDS[kind] ?? (kind.startsWith('tool ') ? kind.slice('tool '.length) : kind)

const sumOf = (chars: Record<string, number>): number =>
  Object.values(chars).reduce((sum, count) => sum + count, 0)

const tokens = (chars: number): string => formatCount(Math.ceil(chars / CHARS_PER_TOKEN))

export function ContextBar({ chars }: { chars: Record<string, number> }) {
  const kinds = useMemo(() => kindsOf([chars]), [chars])
  const total = sumOf(chars)
  if (total === 0) return null
  return (
    <div class="context-bar">
      <div class="time-bar" aria-hidden="true">
        {kinds.map(({ kind, look }) => (
          <span key={kind} class={`ctx-${look}`} style={{ flexGrow: chars[kind]! / total }} />
        ))}
      </div>
      <ul class="legend">
        {kinds.map(({ kind, look }) => (
          <li key={kind}>
            <i class={`ctx-${look}`} aria-hidden="true" />
            <Text>{wordOf(kind)}</Text> {Math.round((chars[kind]! / total) * 100)}%
          </li>
        ))}
        <li class="hint">about {tokens(total)} tokens</li>
      </ul>
    </div>
  )
}

interface Bar {
  step: StepItem
  /** Its index among the steps. */
  at: number
  total: number
}

export function ContextGrowth({
  steps,
  at,
  onPick,
}: {
  steps: readonly StepItem[]
  /** The step in sight. */
  at: number
  onPick: (at: number) => void
}) {
  const kinds = useMemo(() => kindsOf(steps.map(({ chars }) => chars)), [steps])
  const bars = useMemo(() => barsOf(steps), [steps])
  const most = Math.max(1, ...bars.map(({ total }) => total))
  const last = steps.at(-1)
  if (!last || steps.length < 2 || bars.every(({ total }) => total === 0)) return <span class="growth" />
  const shown = steps[at] ?? last
  const width = 1 / bars.length
  const pick = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    const bar =
      bars[Math.min(bars.length - 1, Math.floor(((event.clientX - box.left) / box.width) * bars.length))]
    if (bar) onPick(bar.at)
  }
  return (
    <figure class="growth">
      <svg
        viewBox={`0 0 1 ${HEIGHT}`}
        preserveAspectRatio="none"
        height={HEIGHT}
        style={{ maxWidth: `${Math.min(420, bars.length * 26)}px` }}
        role="img"
        aria-label={`What the model was sent, by call: from about ${tokens(sumOf(steps[0]!.chars))} to about ${tokens(sumOf(last.chars))} tokens`}
        onClick={pick}
      >
        {bars.map((bar, index) => (
          <g key={index} class={bar.step === shown ? 'at' : ''}>
            <title>{`Step ${bar.step.step}: about ${tokens(bar.total)} tokens`}</title>
            <rect class="all" x={index * width} y={0} width={width} height={HEIGHT} />
            {stacked(bar.step.chars, kinds, most).map(({ look, y, height }) => (
              <rect
                key={look + y}
                class={`ctx-${look}`}
                x={index * width}
                y={y}
                width={width * 0.86}
                height={height}
              />
            ))}
          </g>
        ))}
      </svg>
      <figcaption>
        {kinds
          .filter(({ kind }) => (shown.chars[kind] ?? 0) > 0)
          .slice(0, 6)
          .map(({ kind, look }) => (
            <span key={kind}>
              <i class={`ctx-${look}`} aria-hidden="true" />
              <Text>{wordOf(kind)}</Text> {tokens(shown.chars[kind]!)}
            </span>
          ))}
      </figcaption>
    </figure>
  )
}

function stacked(chars: Record<string, number>, kinds: { kind: string; look: string }[], most: number) {
  let top = HEIGHT
  return kinds
    .filter(({ kind }) => (chars[kind] ?? 0) > 0)
    .map(({ kind, look }) => {
      const height = (chars[kind]! / most) * HEIGHT
      top -= height
      return { look, y: top, height }
    })
}

function barsOf(steps: readonly StepItem[]): Bar[] {
  const each = Math.ceil(steps.length / BARS)
  const bars: Bar[] = []
  for (const [at, step] of steps.entries()) {
    const bar = { step, at, total: sumOf(step.chars) }
    const index = Math.floor(at / each)
    if (!bars[index] || bars[index].total < bar.total) bars[index] = bar
  }
  return bars
}
