/** What all runs of the search come to, and when they started. */
import { useRef, useState } from 'preact/hooks'
import {
  formatCost,
  formatCount,
  formatDuration,
  formatWhole,
  statusWord,
} from '../../src/viewer/model/format.ts'
import { failedRuns, type RunNumbers, type StartBar, share } from '../../src/viewer/model/run-numbers.ts'
import { RUN_STATUSES } from '../../src/viewer/model/span.ts'
import { BudgetSum, useEstimateWords } from './money.tsx'

export function RunSums({
  numbers,
  onRange,
}: {
  numbers: RunNumbers
  /** Runs that started in between. */
  onRange: (fromUs: number, toUs: number) => void
}) {
  const { ended, durationMs, inputTokens, outputTokens, cachedTokens } = numbers
  const failed = failedRuns(numbers)
  const estimate = useEstimateWords()
  return (
    <section class="sums" aria-label="All runs of this search">
      <dl>
        <Sum name="Failed" title="Failed or interrupted, of the runs that ended">
          {share(failed, ended)}{' '}
          <small>
            {formatWhole(failed)} of {formatWhole(ended)}
          </small>
        </Sum>
        <Sum name="p50" title="Half of the runs that ended took no longer">
          {durationMs ? formatDuration(durationMs.p50) : '–'}
        </Sum>
        <Sum name="p95" title="95 of 100 runs that ended took no longer">
          {durationMs ? formatDuration(durationMs.p95) : '–'}
        </Sum>
        <Sum name="Tokens" title={`${formatWhole(inputTokens)} in, ${formatWhole(outputTokens)} out`}>
          {formatCount(inputTokens + outputTokens)} <small>{share(cachedTokens, inputTokens)} cached</small>
        </Sum>
        <Sum name="Cost" title={numbers.estimatedUsd > 0 ? estimate : 'As the spans tell it'}>
          {formatCost(numbers.costUsd)}{' '}
          {numbers.estimatedUsd > 0 && (
            <small>{share(numbers.estimatedUsd, numbers.costUsd)} estimated</small>
          )}
        </Sum>
        <BudgetSum costUsd={numbers.costUsd} />
        <Sum name="Mocked" title="Tool calls that were mocked, of all">
          {share(numbers.mockedCalls, numbers.toolCalls)}
        </Sum>
      </dl>
      <Starts bars={numbers.starts} onRange={onRange} />
    </section>
  )
}

function Sum({ name, title, children }: { name: string; title: string; children: preact.ComponentChildren }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

const HEIGHT = 34

/** Dragging over the bars, or a click on one, narrows the list to their time. */
function Starts({
  bars,
  onRange,
}: {
  bars: readonly StartBar[]
  onRange: (fromUs: number, toUs: number) => void
}) {
  const frame = useRef<SVGSVGElement>(null)
  const [drag, setDrag] = useState<{ from: number; to: number } | undefined>()
  const most = Math.max(1, ...bars.map(countOf))
  if (bars.length === 0) return null
  const barAt = (event: PointerEvent) => {
    const box = frame.current!.getBoundingClientRect()
    return Math.max(
      0,
      Math.min(bars.length - 1, Math.floor(((event.clientX - box.left) / box.width) * bars.length)),
    )
  }
  const [first, last] = drag ? [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)] : [-1, -1]
  return (
    <figure class="starts">
      <svg
        ref={frame}
        viewBox={`0 0 ${bars.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`When runs started: ${bars.map(countOf).reduce((a, b) => a + b, 0)} in ${bars.length} bars, at most ${most} in one`}
        onPointerDown={(event) => {
          frame.current?.setPointerCapture(event.pointerId)
          const at = barAt(event)
          setDrag({ from: at, to: at })
        }}
        onPointerMove={(event) => drag && setDrag({ ...drag, to: barAt(event) })}
        onPointerCancel={() => setDrag(undefined)}
        onPointerUp={() => {
          setDrag(undefined)
          if (drag) onRange(bars[first]!.fromUs, bars[last]!.toUs)
        }}
      >
        {drag && <rect class="range" x={first} width={last - first + 1} y="0" height={HEIGHT} />}
        {bars.map((bar, index) => (
          <g key={bar.fromUs}>
            <title>{titleOf(bar)}</title>
            <rect class="catch" x={index} width="1" y="0" height={HEIGHT} />
            {partsOf(bar, most).map(({ status, y, height }) => (
              <rect key={status} class={`bar-${status}`} x={index + 0.1} width="0.8" y={y} height={height} />
            ))}
          </g>
        ))}
      </svg>
      <figcaption>
        <time>{timeOf(bars[0]!.fromUs, bars)}</time>
        <time>{timeOf(bars.at(-1)!.toUs, bars)}</time>
      </figcaption>
    </figure>
  )
}

const countOf = (bar: StartBar): number => Object.values(bar.byStatus).reduce((sum, count) => sum + count, 0)

/** From the bottom up; what is there can be seen, however few. */
function partsOf(bar: StartBar, most: number) {
  let y = HEIGHT
  return RUN_STATUSES.flatMap((status) => {
    const count = bar.byStatus[status] ?? 0
    if (count === 0) return []
    const height = Math.max(2, (count / most) * (HEIGHT - 2 * RUN_STATUSES.length))
    y -= height
    return [{ status, y, height }]
  })
}

function titleOf(bar: StartBar): string {
  const counts = RUN_STATUSES.flatMap((status) => {
    const count = bar.byStatus[status]
    return count ? [`${formatWhole(count)} ${statusWord(status)}`] : []
  })
  return `${new Date(bar.fromUs / 1000).toLocaleString()}: ${counts.join(', ') || 'no run'}`
}

const DAY_US = 86_400_000_000

function timeOf(us: number, bars: readonly StartBar[]): string {
  const date = new Date(us / 1000)
  return bars.at(-1)!.toUs - bars[0]!.fromUs > DAY_US
    ? date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' })
    : date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
}
