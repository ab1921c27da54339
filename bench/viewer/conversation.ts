/** A conversation of 10,000 spans in a real Chromium: from the navigation to its first words. */
import { type Browser, chromium } from 'playwright-core'
import { CHROMIUM_ARGS, chromiumPath } from './browser.ts'
import { startHookspan } from './systems.ts'

const SPANS = 10_000
const ROUNDS = 7
/** Messages that each call of the model is sent. */
const HISTORY = 12
export const TRACE = 'c0'.padEnd(32, '1')

export interface ConversationFigures {
  firstWordsMs: { median: number; each: number[] }
  /** What the main thread worked until then; on a busy machine the better figure. */
  firstWordsCpuMs: number
  /** Elements of the page when all of the conversation is there. */
  nodes: number
}

const id = (number: number) => number.toString(16).padStart(16, '0')
const says = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] })
const words = (at: number) =>
  `message ${at}: ${'what was asked, what was found and what it costs. '.repeat(6)}`

/** An agent, and 9,999 calls of its model, each with the last messages. */
export function requests(): object[] {
  const nanos = (ms: number) => `${BigInt(Math.round(ms)) * 1_000_000n}`
  const begin = Date.now() - SPANS - 60_000
  const span = (number: number, name: string, ms: [number, number], values: Record<string, string>) => ({
    traceId: TRACE,
    spanId: id(number),
    parentSpanId: number === 1 ? '' : id(1),
    name,
    kind: 1,
    startTimeUnixNano: nanos(begin + ms[0]),
    endTimeUnixNano: nanos(begin + ms[1]),
    attributes: Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } })),
  })
  const messages = (until: number) =>
    Array.from(
      { length: Math.min(HISTORY, until) },
      (_, back) => until - Math.min(HISTORY, until) + back,
    ).map((at) => says(at % 2 === 0 ? 'user' : 'assistant', words(at)))
  const spans = [
    span(1, 'invoke_agent', [0, SPANS + 1], {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'wordy',
    }),
    ...Array.from({ length: SPANS - 1 }, (_, at) =>
      span(at + 2, 'chat gpt-4o', [at, at + 1], {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.input.messages': JSON.stringify(messages(at * 2 + 1)),
        'gen_ai.output.messages': JSON.stringify([says('assistant', words(at * 2 + 1))]),
      }),
    ),
  ]
  const parts: object[] = []
  for (let from = 0; from < spans.length; from += 1_000)
    parts.push({
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'bench-agent' } }] },
          scopeSpans: [{ scope: { name: 'bench' }, spans: spans.slice(from, from + 1_000) }],
        },
      ],
    })
  return parts
}

export async function measureConversation(): Promise<ConversationFigures | undefined> {
  const executablePath = chromiumPath()
  if (!executablePath) {
    console.log('conversation: no Chromium found, left out')
    return undefined
  }
  const system = await startHookspan(false)
  let browser: Browser | undefined
  try {
    for (const request of requests()) {
      const response = await fetch(system.tracesUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
      })
      if (response.status !== 200) throw new Error(`${system.name} answered ${response.status}.`)
    }
    browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGS })
    const url = `${system.tracesUrl.replace('/v1/traces', '')}/run/${TRACE}?view=conversation`
    const each: number[] = []
    const cpus: number[] = []
    let nodes = 0
    for (let round = 0; round < ROUNDS; round++) {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, bypassCSP: true })
      await page.addInitScript(NOTE_WORDS)
      const devtools = await page.context().newCDPSession(page)
      await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
      await page.goto(url)
      await page.waitForFunction('globalThis.wordsAt !== undefined')
      each.push((await page.evaluate('globalThis.wordsAt')) as number)
      const { metrics } = await devtools.send('Performance.getMetrics')
      cpus.push(metrics.find(({ name }) => name === 'TaskDuration')!.value * 1000)
      await page.waitForFunction(`document.querySelector('[aria-setsize="${(SPANS - 1) * 3}"]') !== null`)
      nodes = (await page.evaluate('document.querySelectorAll("*").length')) as number
      await page.close()
    }
    const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
    return { firstWordsMs: { median: median(each), each }, firstWordsCpuMs: median(cpus), nodes }
  } finally {
    await browser?.close()
    await system.stop()
  }
}

/** The frame after the first message is there is the paint; the clock starts with the navigation. */
export const NOTE_WORDS = `
  new MutationObserver((_, observer) => {
    if (!document.querySelector('.item-message')?.textContent.includes('message 0')) return
    observer.disconnect()
    requestAnimationFrame(() => {
      const channel = new MessageChannel()
      channel.port1.onmessage = () => { globalThis.wordsAt = performance.now() }
      channel.port2.postMessage(0)
    })
  }).observe(document, { childList: true, subtree: true })`

export function conversationTable(figures: ConversationFigures): string {
  const { firstWordsMs, firstWordsCpuMs, nodes } = figures
  const { median, each } = firstWordsMs
  return [
    '| a conversation of 10,000 spans in Chromium | |',
    '| --- | ---: |',
    `| first words, ms after the navigation: median (each) | ${Math.round(median)} (${each.map((ms) => Math.round(ms)).join(', ')}) |`,
    `| of that, CPU ms of the page's main thread | ${Math.round(firstWordsCpuMs)} |`,
    `| elements in the page when all of it is there | ${nodes.toLocaleString('en')} |`,
  ].join('\n')
}
