import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { id, nowMs, otlp, post, recordedTraces, type TestSpan } from '../viewer/support.ts'
import { axe, findFlaws, launch, SHOTS, watch } from './support.ts'

const OTHER = 'b'.repeat(32)
const WAITING = 'd'.repeat(32)
const WASTEFUL = 'e'.repeat(32)
const recorded = recordedTraces()
let browser: Browser
let viewer: Viewer

/** As it is while a person is asked. */
const untilAsked = (spans: TestSpan[]) =>
  spans
    .filter((span) => span.start! < 13_000)
    .map((span) =>
      span.end! > 13_000
        ? {
            ...span,
            end: span.start!,
            attributes: {
              ...span.attributes,
              'hookspan.span.state': 'started',
              'hookspan.operation.reason': '',
              'hookspan.human.action': '',
            },
          }
        : span,
    )

beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  for (const one of recorded.filter((_, at) => at % 5 === 0)) await post(viewer, one.traces)
  const edit = (spans: TestSpan[]) =>
    spans
      .filter((span) => span.name !== 'compact_context')
      .map((span) =>
        span.name === 'execute_tool cancel_booking'
          ? {
              ...span,
              attributes: {
                ...span.attributes,
                'gen_ai.tool.call.arguments': '{"booking":"LX-1180","refund":false}',
              },
            }
          : span,
      )
  await post(viewer, sampleRun({ traceId: OTHER, atMs: -900_000, edit }))
  await post(viewer, sampleRun())
  await post(viewer, sampleRun({ traceId: WAITING, atMs: -14_000, edit: untilAsked }))
  const page = `${'A very long page that nobody needed in full. '.repeat(600)}`
  const messages = [
    { role: 'user', content: 'Summarise the site' },
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'a', name: 'fetch', arguments: {} }] },
    {
      role: 'tool',
      parts: [
        { type: 'tool_call_response', id: 'a', response: page },
        { type: 'tool_call_response', id: 'lost', response: 'x' },
      ],
    },
  ]
  await post(
    viewer,
    otlp([
      {
        traceId: WASTEFUL,
        spanId: id(1),
        name: 'invoke_agent reader',
        start: -60_000,
        end: -50_000,
        attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'reader' },
      },
      {
        traceId: WASTEFUL,
        spanId: id(2),
        parentSpanId: id(1),
        name: 'chat',
        start: -59_000,
        end: -51_000,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': 'gpt-4o-mini',
          'gen_ai.usage.input_tokens': 7100,
          'gen_ai.input.messages': JSON.stringify(messages),
          'gen_ai.output.messages': '[{"role":"assistant","content":"It is long."}]',
        },
      },
    ]),
  )
})
afterAll(async () => {
  await browser.close()
  await viewer.close()
})

async function open(
  path: string,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<{ page: Page; problems: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options })
  const problems = watch(page)
  await show(page, path)
  return { page, problems }
}

async function show(page: Page, path: string): Promise<void> {
  await page.goto(path.startsWith('http') || path.startsWith('file:') ? path : viewer.url + path)
  await page.waitForSelector('main:not([aria-busy])')
  await page.waitForTimeout(250)
}

const run = `/run/${SAMPLE_TRACE}`
const VIEWS: Record<string, string> = {
  runs: '/',
  'runs-grouped': '/?group=1',
  'runs-found': '/?q=lisbon+errors%3E0',
  'runs-none': '/?q=zzzz',
  timeline: run,
  span: `${run}?span=${id(17)}`,
  'span-model': `${run}?span=${id(6)}`,
  tree: `${run}?view=tree`,
  conversation: `${run}?view=conversation`,
  graph: `${run}?view=graph`,
  events: `${run}?view=events`,
  lint: `${run}?view=lint`,
  'lint-findings': `/run/${WASTEFUL}?view=lint`,
  waiting: `/run/${WAITING}`,
  compare: `/compare/${OTHER}/${SAMPLE_TRACE}`,
  steps: `/steps/${OTHER},${SAMPLE_TRACE},${WAITING}`,
  filtered: `${run}?find=fetch`,
  'by-tool': '/by/tool',
  'by-gate': '/by/gate',
  sets: `/sets?a=errors%3E0&b=agent%3Asupport`,
  'sets-nothing': '/sets?a=zzzz',
}
const LOOKS = [
  ['light', 1280, 800],
  ['dark', 1280, 800],
  ['light', 390, 844],
  ['dark', 390, 844],
  ['light', 1920, 1080],
  ['dark', 1920, 1080],
  // 1280 × 800 at 200 % zoom.
  ['light', 640, 400],
] as const

describe.each(LOOKS)('in %s at %i × %i', (colorScheme, width, height) => {
  // One page for all views: most of what a new one takes is the same each time.
  let page: Page
  let problems: string[]
  beforeAll(async () => {
    page = await browser.newPage({ colorScheme, viewport: { width, height } })
    problems = watch(page)
  })
  afterEach(() => problems.splice(0))
  afterAll(() => page.close())

  it.each(Object.entries(VIEWS))(
    '%s: nothing overlaps, is cut or empty, and axe finds nothing',
    async (name, path) => {
      await show(page, path)
      await page.screenshot({ path: `${SHOTS}${name}-${colorScheme}-${width}.png` })
      expect(await findFlaws(page)).toEqual([])
      expect(await axe(page)).toEqual([])
      expect(problems).toEqual([])
    },
  )
})

describe.skipIf(recorded.length === 0)('recorded runs of other frameworks', () => {
  it.each([...new Set(recorded.map((one) => one.framework))])(
    '%s: every view shows it',
    async (framework) => {
      const one = recorded.findLast((trace) => trace.framework === framework)!
      await post(viewer, one.traces)
      const traceId = one.traces.resourceSpans[0]!.scopeSpans[0]!.spans[0]!.traceId
      for (const view of ['timeline', 'tree', 'conversation', 'graph', 'events', 'lint']) {
        const { page, problems } = await open(`/run/${traceId}?view=${view}`)
        await page.screenshot({ path: `${SHOTS}recorded-${framework}-${view}.png` })
        expect(await findFlaws(page), view).toEqual([])
        expect(problems, view).toEqual([])
        await page.close()
      }
    },
  )
})

describe('the keyboard', () => {
  it('goes from the list to a span and back without a mouse', async () => {
    const { page } = await open('/')
    await page.keyboard.press('/')
    await page.keyboard.type('tool:cancel_booking reason:done')
    await page.keyboard.press('Escape')
    await page.waitForFunction(() => document.querySelectorAll('tr.run').length === 2)
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.timeline-rows')
    await page.keyboard.press('e')
    await page.waitForSelector('.panel')
    expect(new URL(page.url()).searchParams.get('span')).toBe(id(11))
    await page.keyboard.press('k')
    expect(new URL(page.url()).searchParams.get('span')).toBe(id(10))
    await page.keyboard.press('3')
    await page.waitForSelector('.conversation')
    await page.keyboard.press('Escape')
    await page.keyboard.press('u')
    await page.waitForSelector('table.runs')
    await page.keyboard.press('?')
    await page.waitForSelector('dialog[open]')
    expect(await axe(page)).toEqual([])
    await page.close()
  })

  it('folds and searches in the tree', async () => {
    const { page } = await open(run)
    const rows = () => page.locator('.row').count()
    const all = await rows()
    await page.keyboard.press('Home')
    await page.keyboard.press('h')
    expect(await rows()).toBe(1)
    await page.keyboard.press('l')
    expect(await rows()).toBe(all)
    await page.locator('.row .fold').first().click()
    expect(await rows()).toBe(1)
    await page.locator('.row .fold').first().click()
    expect(await rows()).toBe(all)
    await page.keyboard.press('/')
    await page.keyboard.type('parrots lisbon'.slice(8))
    await page.waitForFunction(() => /[1-9]\d* of /.test(document.querySelector('.found')!.textContent!))
    await page.close()
  })
})

describe('links', () => {
  it('to a span open that span, wherever it is in a long run', async () => {
    const traceId = '10000'.padEnd(32, 'c')
    const spans = Array.from(
      { length: 3000 },
      (_, at): TestSpan => ({
        traceId,
        spanId: id(at + 1),
        parentSpanId: at === 0 ? '' : id(1),
        name: `span ${at}`,
        start: at - 10_000,
        end: at - 9_990,
      }),
    )
    await post(viewer, otlp(spans))
    const { page } = await open(`/run/${traceId}?span=${id(2500)}`)
    expect(await page.locator('.row.selected').textContent()).toContain('span 2499')
    expect(await page.locator('.row.selected').isVisible()).toBe(true)
    expect(await page.locator('.row').count()).toBeLessThan(80)
    await page.close()
  })

  it('to a long run paint its first rows, and have all of it soon after', async () => {
    const { page } = await open(`/run/${'10000'.padEnd(32, 'c')}`)
    await page.keyboard.press('End')
    expect(await page.locator('.row.selected').textContent()).toContain('span 2999')
    expect(await page.locator('.facts .legend').textContent()).toContain('Own code')
    await page.close()
  })

  it('with the token hand it to the page and leave no trace of it in the address', async () => {
    const { page } = await open(viewer.link)
    expect(page.url()).not.toContain(viewer.token)
    expect(await page.evaluate(() => sessionStorage.getItem('hookspan-token'))).toBe(viewer.token)
    await page.close()
  })
})

describe('while a run is live', () => {
  it('a parent that has not come is shown to run; in a run that died, not to have come', async () => {
    const step = (traceId: string, atMs: number) =>
      otlp([
        {
          traceId,
          spanId: id(2),
          parentSpanId: id(1),
          name: 'step 0',
          start: atMs,
          end: atMs + 900,
          attributes: { 'hookspan.step.index': 0 },
        },
      ])
    const [live, dead] = ['57ab'.padEnd(32, '1'), '57ab'.padEnd(32, '2')] as const
    await post(viewer, step(live, nowMs() - 1_000))
    await post(viewer, step(dead, nowMs() - 86_400_000))
    const { page, problems } = await open(`/run/${live}`)
    expect(await page.locator('.run-header .status').textContent()).toBe('Running')
    expect(await page.locator('.row').first().innerText()).toMatch(/^parent span\s+running/)
    await show(page, `/run/${dead}`)
    expect(await page.locator('.run-header .status').textContent()).toBe('Interrupted')
    expect(await page.locator('.row').first().innerText()).toMatch(/^parent span, not received/)
    expect(problems).toEqual([])
    await page.close()
  })

  it('its rows come and end without anything else moving', async () => {
    const traceId = '11fe'.padEnd(32, '1')
    const started = (span: TestSpan): TestSpan => ({
      ...span,
      end: span.start!,
      attributes: { ...span.attributes, 'hookspan.span.state': 'started' },
    })
    const atMs = nowMs()
    const begin = sampleRun({ traceId, atMs, edit: (spans) => spans.slice(0, 3).map(started) })
    await post(viewer, begin)
    const { page, problems } = await open(`/run/${traceId}`)
    expect(await page.locator('.run-header .status').textContent()).toBe('Running')
    await page.evaluate(() => {
      const state = globalThis as never as { jumped: string[] }
      state.jumped = []
      type Moved = { node: Element | Text; previousRect: DOMRect; currentRect: DOMRect }
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          for (const { node, previousRect, currentRect } of (entry as never as { sources: Moved[] })
            .sources) {
            // Bars and sums grow as the run does, sideways; a bar whose span has ended has another height.
            if (node && Math.abs(previousRect.y - currentRect.y) >= 1 && !node.parentElement?.closest('.row'))
              state.jumped.push(`${node.textContent?.slice(0, 40)}: ${previousRect.y} to ${currentRect.y}`)
          }
        }
      }).observe({ type: 'layout-shift' as never, buffered: false })
    })
    const { spans } = sampleRun({ traceId, atMs }).resourceSpans[0]!.scopeSpans[0]!
    for (const span of spans) {
      await post(viewer, { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })
      await page.waitForTimeout(60)
    }
    await page.waitForFunction(
      () => document.querySelector('.run-header .status')?.textContent === 'With errors',
    )
    expect(await page.evaluate(() => (globalThis as never as { jumped: string[] }).jumped)).toEqual([])
    // What the bar says of the store follows, too.
    const { spans: stored } = (await (await fetch(`${viewer.url}/api/status`)).json()) as { spans: number }
    await expect
      .poll(() => page.locator('.store').innerText())
      .toContain(`${stored.toLocaleString('en-US')} spans`)
    expect(problems).toEqual([])
    await page.close()
  })

  it('the list shows a new run by itself', async () => {
    const { page } = await open('/?q=agent:newcomer')
    await post(
      viewer,
      otlp([
        {
          traceId: 'ace'.padEnd(32, '2'),
          spanId: id(1),
          name: 'invoke_agent newcomer',
          attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'newcomer' },
        },
      ]),
    )
    await page.waitForSelector('text=newcomer')
    await page.close()
  })
})

describe('hostile spans', () => {
  it('are shown as text, in every view, and run nothing', async () => {
    const traceId = 'bad'.padEnd(32, '6')
    const text =
      '<img src=x onerror="document.title=`owned`"><script>document.title="owned"</script>\u202Egnp.exe \u001b[31mred'
    const all = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': text,
      'gen_ai.input.messages': JSON.stringify([{ role: text, content: text }]),
      'gen_ai.output.messages': JSON.stringify([
        {
          role: 'assistant',
          content: text,
          tool_calls: [{ id: text, function: { name: text, arguments: text } }],
        },
      ]),
      [text]: text,
    }
    await post(
      viewer,
      otlp(
        [
          {
            traceId,
            spanId: id(1),
            name: text,
            attributes: {
              'gen_ai.operation.name': 'invoke_agent',
              'gen_ai.agent.name': text,
              'gen_ai.conversation.id': text,
            },
            error: text,
          },
          {
            traceId,
            spanId: id(2),
            parentSpanId: id(1),
            name: text,
            attributes: all,
            events: [{ name: text, attributes: { [text]: text } }],
          },
          {
            traceId,
            spanId: id(3),
            parentSpanId: id(1),
            name: text,
            attributes: {
              'gen_ai.operation.name': 'execute_tool',
              'gen_ai.tool.name': text,
              'gen_ai.tool.call.arguments': text,
              'gen_ai.tool.call.result': 'wide '.repeat(2_000_000),
            },
          },
        ],
        { 'service.name': text },
      ),
    )
    for (const path of [
      '/',
      '/?group=1',
      ...['timeline', 'tree', 'conversation', 'graph', 'events', 'lint'].map(
        (view) => `/run/${traceId}?view=${view}`,
      ),
      `/run/${traceId}?span=${id(2)}`,
      `/run/${traceId}?span=${id(3)}`,
      `/compare/${traceId}/${SAMPLE_TRACE}`,
    ]) {
      const { page, problems } = await open(path)
      // By what is shown, as text; a script would have put something else in its place.
      expect(await page.title(), path).toMatch(
        path.startsWith('/?') || path === '/' ? /^hookspan$/ : /^(Compare: )?<img .*… · hookspan$/,
      )
      expect(await page.locator('img, main script').count(), path).toBe(0)
      expect(
        await page.evaluate(() =>
          /\p{Cc}|\u202e/u.test((document.body.textContent ?? '').replace(/[\n\t]/g, '')),
        ),
        path,
      ).toBe(false)
      expect(problems, path).toEqual([])
      await page.close()
    }
  })
})

describe('export and import', () => {
  it('one HTML file opens offline with every view', async () => {
    const html = await (await fetch(`${viewer.url}/api/runs/${SAMPLE_TRACE}/export.html`)).text()
    const file = join(tmpdir(), `hookspan-offline-${process.pid}.html`)
    writeFileSync(file, html)
    const context = await browser.newContext({ offline: true, viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    const problems = watch(page)
    await page.goto(pathToFileURL(file).href)
    for (const [view, selector, text] of [
      ['1', '.row', 'support'],
      ['2', '.row', 'cancel_booking'],
      ['3', '.bubble', 'Mei Sato'],
      ['4', '.node', 'researcher'],
      ['5', '.event-line', 'sql-guard'],
      ['6', '.score', '100'],
    ] as const) {
      await page.keyboard.press(view)
      await page.waitForSelector(`${selector}:has-text("${text}")`)
      expect(await findFlaws(page), view).toEqual([])
    }
    await page.keyboard.press('1')
    await page.locator('.row:has-text("drop_table")').first().click()
    await page.waitForSelector('.panel:has-text("DROP TABLE bookings")')
    await page.screenshot({ path: `${SHOTS}offline.png` })
    expect(await axe(page)).toEqual([])
    expect(problems).toEqual([])
    await context.close()
  })

  it('a dropped OTLP/JSON file is imported, when the page has the token', async () => {
    const exported = await (await fetch(`${viewer.url}/api/runs/${SAMPLE_TRACE}/export.json`)).text()
    const traceId = 'f00d'.padEnd(32, '3')
    const drop = async (page: Page) => {
      const data = await page.evaluateHandle(
        (text) => {
          const transfer = new DataTransfer()
          transfer.items.add(new File([text], 'run.otlp.json', { type: 'application/json' }))
          return transfer
        },
        exported.replaceAll(SAMPLE_TRACE, traceId),
      )
      await page.dispatchEvent('.app', 'drop', { dataTransfer: data })
    }
    const { page: reader } = await open('/')
    await drop(reader)
    await reader.waitForSelector('.top-notice:has-text("Importing needs the link")')
    await reader.close()
    const { page } = await open(viewer.link)
    await drop(page)
    await page.waitForURL(`**/run/${traceId}`)
    await page.waitForSelector('.row:has-text("researcher")')
    const again = await (await fetch(`${viewer.url}/api/runs/${traceId}/export.json`)).text()
    expect(JSON.parse(again)).toEqual(JSON.parse(exported.replaceAll(SAMPLE_TRACE, traceId)))
    await page.close()
  })

  it('copies a span as JSON and as a mock rule', async () => {
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    const page = await context.newPage()
    await page.goto(`${viewer.url}${run}?span=${id(4)}`)
    await page.locator('button:has-text("mock() rule")').click()
    await page.waitForSelector('text=Copied')
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(
      /^mock\('search_bookings'\)\.when\(\{ customer: 'Mei Sato' \}\)\.returns\(\{/,
    )
    await page.locator('.panel button:has-text("JSON")').click()
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toContain('"spanId": "0000000000000004"')
    await context.close()
  })

  it('copies where the browser has no clipboard, as by plain HTTP from another machine, and says when it cannot', async () => {
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    const page = await context.newPage()
    await page.goto(`${viewer.url}${run}?span=${id(4)}`)
    await page.evaluate(() => {
      Object.assign(globalThis, { kept: navigator.clipboard })
      Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })
    })
    await page.locator('button:has-text("mock() rule")').click()
    await page.waitForSelector('text=Copied')
    const copied = () => page.evaluate(() => (globalThis as never as { kept: Clipboard }).kept.readText())
    expect(await copied()).toMatch(/^mock\('search_bookings'\)/)
    await page.evaluate(() => {
      document.execCommand = () => false
    })
    await page.locator('.panel button:has-text("Link")').click()
    await page.waitForSelector('text=Failed')
    expect(await copied()).toMatch(/^mock\('search_bookings'\)/)
    await context.close()
  })

  it('copies all of a result that the panel shows in part, as JSON and as a mock rule', async () => {
    const traceId = 'b16'.padEnd(32, '4')
    const attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'fetch_page',
      'gen_ai.tool.call.arguments': '{"url":"https://example.com"}',
      'gen_ai.tool.call.result': `${'long '.repeat(40_000)}end`,
    }
    await post(viewer, otlp([{ traceId, spanId: id(1), name: 'execute_tool fetch_page', attributes }]))
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    const page = await context.newPage()
    await page.goto(`${viewer.url}/run/${traceId}?span=${id(1)}`)
    for (const button of ['mock() rule', 'JSON']) {
      await page.evaluate(() => navigator.clipboard.writeText(''))
      await page.locator(`.panel button:has-text("${button}")`).click()
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain('long long end')
    }
    await context.close()
  })
})

it.each(['/run/dead', `/compare/dead/${SAMPLE_TRACE}`, '/steps/dead,beef'])(
  'what is not here says so under a heading: %s',
  async (path) => {
    const { page } = await open(path)
    expect(await page.locator('h1').innerText()).toMatch(
      /^This run is not here|^These runs cannot be compared/,
    )
    expect(await axe(page)).toEqual([])
    await page.close()
  },
)

it('compares two runs picked in the list', async () => {
  const { page } = await open('/?q=agent:support+reason:done')
  await page.locator('tr.run input').first().check()
  await page.locator(`tr.run:has(a[href="/run/${OTHER}"]) input`).check()
  await page.keyboard.press('c')
  await page.waitForSelector('.pair-changed')
  await page.locator('.pair-changed summary').first().click()
  await page.screenshot({ path: `${SHOTS}compare-open.png` })
  expect(await page.locator('.line-added, .line-removed').count()).toBeGreaterThan(1)
  await page.close()
})
