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
import { type ListRoute, pathOf } from './route.ts'

const OVER = '-status:running,waiting'

export function RunSums({
  numbers,
  route,
  onRange,
}: {
  numbers: RunNumbers
  /** The list that they are of. */
  route: ListRoute
  /** Runs that started in between. */
  onRange: (fromUs: number, toUs: number) => void
}) {
  const { ended, durationMs, inputTokens, outputTokens, cachedTokens, estimatedUsd } = numbers
  const failed = failedRuns(numbers)
  const estimate = useEstimateWords()
  /** The runs that a number counts. */
  const runsWith = (term: string, sort = route.sort) =>
    pathOf({ ...route, query: [route.query, term].filter(Boolean).join(' '), sort })
  const lasting = (ms: number | undefined, says: string) =>
    ms === undefined ? (
      '–'
    ) : (
      <Count href={runsWith(`duration>=${ms} ${OVER}`, '-duration')} says={says}>
        {formatDuration(ms)}
      </Count>
    )
  return (
    <section class="sums" aria-label="All runs of this search">
      <dl>
        <Sum name="Failed" title="Failed or interrupted, of the runs that ended">
          <Count
            href={failed > 0 && runsWith('status:failed,interrupted')}
            says="The runs that failed or were interrupted"
          >
            {share(failed, ended)}
          </Count>{' '}
          <small>
            {formatWhole(failed)} of{' '}
            <Count href={ended > 0 && runsWith(OVER)} says="The runs that ended">
              {formatWhole(ended)}
            </Count>
          </small>
        </Sum>
        <Sum name="p50" title="Half of the runs that ended took no longer">
          {lasting(durationMs?.p50, 'The half that took as long or longer')}
        </Sum>
        <Sum name="p95" title="95 of 100 runs that ended took no longer">
          {lasting(durationMs?.p95, 'Those that took as long or longer')}
        </Sum>
        <Sum name="Tokens" title={`${formatWhole(inputTokens)} in, ${formatWhole(outputTokens)} out`}>
          <Count
            href={inputTokens + outputTokens > 0 && runsWith('tokens>0', '-tokens')}
            says="The runs with most tokens"
          >
            {formatCount(inputTokens + outputTokens)}
          </Count>{' '}
          <small>
            <Count
              href={cachedTokens > 0 && runsWith('cached>0', '-cached')}
              says="Of the tokens in, read from a cache"
            >
              {share(cachedTokens, inputTokens)} cached
            </Count>
          </small>
        </Sum>
        <Sum name="Cost" title={estimatedUsd > 0 ? estimate : 'As the spans tell it'}>
          <Count href={numbers.costUsd > 0 && runsWith('cost>0', '-cost')} says="The dearest runs">
            {formatCost(numbers.costUsd)}
          </Count>{' '}
          {estimatedUsd > 0 && (
            <small>
              <Count href={runsWith('estimated>0', '-cost')} says={estimate}>
                {share(estimatedUsd, numbers.costUsd)} estimated
              </Count>
            </small>
          )}
        </Sum>
        <BudgetSum costUsd={numbers.costUsd} />
        <Sum name="Mocked" title="Tool calls that were mocked, of all">
          <Count
            href={numbers.mockedCalls > 0 && runsWith('mocked:yes', '-mocked')}
            says="The runs with mocked calls"
          >
            {share(numbers.mockedCalls, numbers.toolCalls)}
          </Count>
        </Sum>
      </dl>
      <Starts bars={numbers.starts} onRange={onRange} />
    </section>
  )
}

/** A number, and the way to what it counts where there is any. */
function Count({
  href,
  says,
  children,
}: {
  href: string | false
  says: string
  children: preact.ComponentChildren
}) {
  if (href === false) return <>{children}</>
  return (
    <a href={href} title={says}>
      {children}
    </a>
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
