/** Many runs on disk: how they are taken in while people look, and how long questions about them take. */
import { setTimeout as sleep } from 'node:timers/promises'
import { idle } from './idle.ts'
import { runRequest, SPANS_PER_RUN, traceIdOf } from './stream.ts'
import { type System, startHookspan, weigh } from './systems.ts'

const IN_FLIGHT = 4
const LOOKERS = 10
/** Between two questions of one of them. */
const THINK_MS = 1_000
/** Of all spans, those that come while people look. */
const LOOKED_SHARE = 0.1
const ASKED = 20

export interface LargeFigures {
  runs: number
  spans: number
  receivedBytes: number
  diskBytes: number
  cpuAnswered: number
  cpuIdle: number
  /** The most it took of a core in any ten seconds after the last answer, nobody looking. */
  background: number
  residentMib: number
  questions: Question[]
  /** The same questions while spans came. */
  lookers: Question
  perSecondWhileLookedAt: number
}

export interface Question {
  name: string
  p50: number
  p95: number
  worst: number
  asked: number
  /** What came: the check that something was found. */
  count: number
}

export async function measureLarge(runs: number): Promise<LargeFigures> {
  const system = await startHookspan(false)
  try {
    return await measure(system, runs)
  } finally {
    await system.stop()
  }
}

async function measure(system: System, runs: number): Promise<LargeFigures> {
  const beginMs = Date.now() - runs * 10 - 3_600_000
  const before = weigh(system.process).cpuSeconds
  let receivedBytes = 0
  let next = 0
  const send = async (until: number) => {
    while (next < until) {
      const body = runRequest(next++, beginMs)
      receivedBytes += body.length
      const response = await fetch(system.tracesUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/x-protobuf' },
        body: body as never,
      })
      await response.arrayBuffer()
      if (response.status !== 200) throw new Error(`${system.name} answered ${response.status}.`)
      if (next % 10_000 === 0)
        console.log(
          `${next} of ${runs} runs sent, ${Math.round(weigh(system.process).rssBytes / 2 ** 20)} MiB resident`,
        )
    }
  }
  const alone = Math.round(runs * (1 - LOOKED_SHARE))
  await Promise.all(Array.from({ length: IN_FLIGHT }, () => send(alone)))
  const cpuAnswered = weigh(system.process).cpuSeconds - before
  const aloneBytes = receivedBytes
  const { cpuSeconds, most: background } = await idle(system.process)
  const diskBytes = system.diskBytes()
  const lookers = watch(system)
  const begun = performance.now()
  await Promise.all(Array.from({ length: IN_FLIGHT }, () => send(runs)))
  const seconds = (performance.now() - begun) / 1000
  const looked = await lookers.stop()
  await idle(system.process)
  const questions: Question[] = []
  for (const [name, ask] of questionsOf(system, runs)) {
    questions.push(await timed(name, ask))
    console.log(rowOf(questions.at(-1)!))
  }
  return {
    runs,
    spans: runs * SPANS_PER_RUN,
    receivedBytes: aloneBytes,
    diskBytes,
    cpuAnswered,
    cpuIdle: cpuSeconds - before,
    background,
    residentMib: weigh(system.process).rssBytes / 2 ** 20,
    questions,
    lookers: looked,
    perSecondWhileLookedAt: ((runs - alone) * SPANS_PER_RUN) / seconds,
  }
}

type Ask = () => Promise<number>

function questionsOf({ tracesUrl }: System, runs: number): [string, Ask][] {
  const url = tracesUrl.replace('/v1/traces', '')
  // biome-ignore lint/suspicious/noExplicitAny: several answers, read field by field
  const get = async (path: string): Promise<any> => {
    const response = await fetch(`${url}${path}`)
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    return response.json()
  }
  const list =
    (q: string, sort = '-started') =>
    async () =>
      (await get(`/api/runs?limit=200&sort=${sort}&q=${encodeURIComponent(q)}`)).total as number
  const search = (q: string) => async () =>
    (await get(`/api/search?limit=100&q=${encodeURIComponent(q)}`)).hits.length as number
  return [
    ['list, the newest 200', list('')],
    ['list, sorted by cost', list('', '-cost')],
    ['list, sorted by duration', list('', '-duration')],
    ['list, of a status', list('status:ok')],
    ['statistics of all runs', async () => (await get('/api/numbers')).runs as number],
    ['tools of all runs', async () => (await get('/api/uses/tool')).uses[0].runs as number],
    ['search a word that one span in 10,000 has', search('chrysoprase')],
    ['list of the runs with that word', list('chrysoprase')],
    ['search a word that every run has', search('agent')],
    ['list of the runs with that word ', list('agent')],
    ['search the beginning of a word', search('chrysop')],
    ['search two words', search('chrysoprase fares')],
    ['search a word that nothing has', search('walrus')],
    [
      'open a run of 100 spans',
      async () => (await get(`/api/runs/${traceIdOf(Math.floor(runs / 2))}`)).columns.rows.length as number,
    ],
  ]
}

async function timed(name: string, ask: Ask): Promise<Question> {
  const times: number[] = []
  let count = 0
  for (let round = 0; round < ASKED; round++) {
    const begun = performance.now()
    count = await ask()
    times.push(performance.now() - begun)
  }
  return question(name, times, count)
}

/** Ten people, each with a question a second. */
function watch(system: System): { stop(): Promise<Question> } {
  const times: number[] = []
  let isOver = false
  let count = 0
  const asks = questionsOf(system, 1000).filter(([name]) => !name.startsWith('open'))
  const look = async (at: number) => {
    for (let round = at; !isOver; round++) {
      const begun = performance.now()
      count += await asks[round % asks.length]![1]()
      times.push(performance.now() - begun)
      await sleep(THINK_MS)
    }
  }
  const all = Promise.all(Array.from({ length: LOOKERS }, (_, at) => look(at)))
  return {
    async stop() {
      isOver = true
      await all
      return question('ten people, a question a second each, while spans come', times, count)
    },
  }
}

function question(name: string, times: number[], count: number): Question {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { name, p50: at(0.5), p95: at(0.95), worst: sorted.at(-1) ?? Number.NaN, asked: times.length, count }
}

const whole = (value: number) => Math.round(value).toLocaleString('en')

export function rowOf({ name, p50, p95, worst, asked, count }: Question): string {
  return `| ${name.trim()} | ${whole(p50)} | ${whole(p95)} | ${whole(worst)} | ${whole(asked)} | ${whole(count)} |`
}

export function largeTable(figures: LargeFigures): string {
  const { cpuAnswered, cpuIdle, diskBytes, receivedBytes, background, residentMib } = figures
  return [
    `| ${whole(figures.spans)} spans in ${whole(figures.runs)} runs, on disk | |`,
    '| --- | ---: |',
    `| CPU seconds for nine tenths of them, until answered; until idle | ${cpuAnswered.toFixed(1)}; ${cpuIdle.toFixed(1)} |`,
    `| bytes on disk for each received | ${(diskBytes / receivedBytes).toFixed(3)} |`,
    `| the most of a core that it took in any ten seconds after the last answer | ${background.toFixed(2)} |`,
    `| spans per second while ten people look | ${whole(figures.perSecondWhileLookedAt)} |`,
    `| MiB resident after the questions | ${whole(residentMib)} |`,
    '',
    '| ms to answer | p50 | p95 | worst | asked | came |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...[...figures.questions, figures.lookers].map(rowOf),
  ].join('\n')
}
