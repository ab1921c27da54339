/**
 * The viewer beside a real Jaeger and a real Arize Phoenix: same machine, same OTLP stream, one after the other.
 *
 *   npm run bench:viewer -- [--spans 1000000] [--only hookspan,memory,jaeger,badger,phoenix,browser,conversation]
 *   npm run bench:viewer -- --large 100000      so many runs of a hundred spans on disk: hours on a busy machine
 *
 * Jaeger is found as the tests find it (`npm run jaeger:install`). Phoenix by PHOENIX_BIN or as
 * `npm run backends:install` puts it.
 * A whole run writes its part of bench/RESULTS.md.
 */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { environment } from '../harness/environment.ts'
import { environmentLine } from '../harness/report.ts'
import { type BrowserFigures, measureBrowser } from './browser.ts'
import { type ConversationFigures, conversationTable, measureConversation } from './conversation.ts'
import { largeTable, measureLarge } from './large.ts'
import { type Figures, measure } from './measure.ts'
import { browserTable, figuresTable, writeLarge, writePage } from './page.ts'
import { SPANS_PER_RUN } from './stream.ts'
import { type System, startHookspan, startJaeger, startPhoenix } from './systems.ts'

const ALL = 'hookspan,memory,jaeger,badger,phoenix,browser,conversation'
const SPANS = '1000000'
const { values: options } = parseArgs({
  options: {
    spans: { type: 'string', default: SPANS },
    only: { type: 'string', default: ALL },
    large: { type: 'string' },
  },
})
const runs = Math.ceil(Number(options.spans) / SPANS_PER_RUN)
const only = new Set(options.only.split(','))
/** With the long run, what Phoenix holds in its queue. */
const FEW_SPANS = 10_000
const STARTERS: [string, () => Promise<System | undefined>][] = [
  ['hookspan', () => startHookspan(false)],
  ['memory', () => startHookspan(true)],
  ['jaeger', () => startJaeger('memory')],
  ['badger', () => startJaeger('badger')],
  ['phoenix', startPhoenix],
]

const loadBefore = loadavg()[0]!
if (options.large !== undefined) {
  const table = largeTable(await measureLarge(Number(options.large)))
  const line = environmentLine(environment(loadBefore))
  console.log(`${table}\n\n${line}`)
  writeLarge(table, line)
  process.exit(0)
}
let whole = options.only === ALL && options.spans === SPANS
const measured = await measureEach(only, runs)
// Beside what Phoenix cannot take in useful time: as much as it does take.
const few = whole ? await measureEach(new Set(['hookspan', 'phoenix']), FEW_SPANS / SPANS_PER_RUN) : []
let browser: BrowserFigures | undefined
if (only.has('browser')) {
  browser = await measureBrowser()
  if (browser) console.log(`${browserTable(browser)}\n`)
  else whole = false
}
let conversation: ConversationFigures | undefined
if (only.has('conversation')) {
  conversation = await measureConversation()
  if (conversation) console.log(`${conversationTable(conversation)}\n`)
  else whole = false
}
const line = environmentLine(environment(loadBefore))
console.log(line)
if (whole && browser && conversation)
  writePage(measured, few, [browserTable(browser), conversationTable(conversation)], line)
else console.log('Only a part was measured: bench/RESULTS.md is as it was.')

async function measureEach(keys: ReadonlySet<string>, runCount: number): Promise<Figures[]> {
  const figures: Figures[] = []
  for (const [key, start] of STARTERS) {
    if (!keys.has(key)) continue
    const system = await start()
    if (!system) {
      console.log(`${key}: not found, left out\n`)
      whole = false
      continue
    }
    try {
      figures.push(await measure(system, runCount))
    } finally {
      await system.stop()
    }
    console.log(`${figuresTable(figures.slice(-1))}\n`)
  }
  return figures
}
