/** Runs and stores as nobody plans them, each opened in the page. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { startViewer, type Viewer, type ViewerOptions } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { id, otlp, post, type TestSpan, TRACE } from '../viewer/support.ts'
import { findFlaws, launch, SHOTS, watch } from './support.ts'

const CHAIN = 20_000
const RUNS = 100_000
const EVENTS = 1_000
/** A hundred thousand of them are summed one by one, on a machine that may have much else to do. */
const SUMMING_MS = 900_000
let browser: Browser
const ends: (() => unknown)[] = []
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function view(options: ViewerOptions = {}): Promise<Viewer> {
  const viewer = await startViewer({ db: ':memory:', port: 0, ...options })
  ends.push(() => viewer.close())
  return viewer
}

async function open(viewer: Viewer, path: string): Promise<{ page: Page; problems: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  ends.push(() => page.close())
  page.setDefaultTimeout(120_000)
  const problems = watch(page)
  await page.goto(`${viewer.url}${path}#token=${viewer.token}`)
  return { page, problems }
}

async function send(viewer: Viewer, spans: readonly TestSpan[], atOnce = 5_000): Promise<void> {
  for (let from = 0; from < spans.length; from += atOnce)
    expect((await post(viewer, otlp(spans.slice(from, from + atOnce)))).status).toBe(200)
}

const says = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] })
const chat = (number: number, input: object[], output: object): TestSpan => ({
  spanId: id(number),
  parentSpanId: id(1),
  name: 'chat gpt-4o',
  start: number,
  end: number + 1,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.input.messages': JSON.stringify(input),
    'gen_ai.output.messages': JSON.stringify([output]),
  },
})
const agent = (name: string): TestSpan => ({
  spanId: id(1),
  name: 'invoke_agent',
  start: 0,
  end: 100,
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
})

it('a chain of 20,000 spans, each in the one before', async () => {
  const viewer = await view()
  const links = Array.from({ length: CHAIN }, (_, at) => ({
    spanId: id(at + 1),
    ...(at > 0 && { parentSpanId: id(at) }),
    name: `link ${at + 1}`,
    start: 0,
    end: 100,
  }))
  await send(viewer, links)
  const { page, problems } = await open(viewer, `/run/${TRACE}`)
  const rows = page.locator('.timeline-rows .row')
  await rows.filter({ hasText: 'link 1' }).first().waitFor()
  // No more rows are drawn than can be seen.
  expect(await rows.count()).toBeLessThan(200)
  await page.locator('.timeline-rows').evaluate((pane) => {
    const scroller = [pane, ...pane.querySelectorAll('*')].find(
      (one) => one.scrollHeight > one.clientHeight + 1_000,
    )
    const outer = scroller ?? pane.parentElement!
    outer.scrollTop = outer.scrollHeight
  })
  await rows.filter({ hasText: `link ${CHAIN}` }).waitFor()
  await page.goto(`${viewer.url}/run/${TRACE}?span=${id(CHAIN)}`)
  await page.locator('main.run-page').waitFor()
  expect(problems).toEqual([])
})

it('a conversation of 10 MB', async () => {
  const viewer = await view()
  const long = 'All work and no play makes a dull page. '.repeat(6_500)
  const messages = Array.from({ length: 40 }, (_, at) =>
    says(at % 2 === 0 ? 'user' : 'assistant', `part ${at} ${long}`),
  )
  expect(JSON.stringify(messages).length).toBeGreaterThan(10_000_000)
  await send(viewer, [agent('wordy'), chat(2, messages, says('assistant', 'The very last word.'))])
  const { page, problems } = await open(viewer, `/run/${TRACE}?view=conversation`)
  await page.getByText('part 0 All work').first().waitFor()
  await page.getByText('The very last word.').first().waitFor({ state: 'attached' })
  // What one does next is answered.
  await page.keyboard.press('1')
  await page.locator('.timeline-rows .row').first().waitFor()
  expect(problems).toEqual([])
})

it('a conversation of 10,000 spans: its first words come with the page, and no more of it is drawn than is in sight', async () => {
  const viewer = await view()
  const calls = Array.from({ length: 9_999 }, (_, at) =>
    chat(at + 2, [says('user', `question ${at}`)], says('assistant', `answer ${at}`)),
  )
  await send(viewer, [agent('talker'), ...calls], 2_500)
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  ends.push(() => page.close())
  page.setDefaultTimeout(120_000)
  // What the page asks for is not answered until the first words are there.
  const { promise: areThere, resolve: allow } = Promise.withResolvers<void>()
  await page.route('**/api/**', async (route) => {
    await areThere
    await route.continue()
  })
  await page.goto(`${viewer.url}/run/${TRACE}?view=conversation`)
  await page.locator('.prose').getByText('question 0', { exact: true }).waitFor()
  await page.locator('.prose').getByText('answer 0', { exact: true }).waitFor()
  allow()
  // A line for each step, a question and an answer.
  const items = page.locator('.conversation .item')
  await page.locator('.conversation [aria-setsize="29997"]').first().waitFor()
  expect(await items.count()).toBeLessThan(100)
  await page.locator('.conversation').evaluate((pane) => {
    pane.scrollTop = pane.scrollHeight
  })
  await page.locator('.prose').getByText('answer 9998', { exact: true }).waitFor()
  expect(await items.count()).toBeLessThan(100)
})

it(
  '100,000 runs: listed, searched, sorted, and one of them opened',
  async () => {
    const viewer = await view()
    const traceOf = (at: number) => at.toString(16).padStart(32, '0')
    for (let from = 0; from < RUNS; from += 5_000) {
      const spans = Array.from({ length: 5_000 }, (_, index) => ({
        ...agent(`agent-${(from + index) % 100}`),
        traceId: traceOf(from + index + 1),
        start: -(from + index),
        end: -(from + index) + ((from + index) % 977),
      }))
      await send(viewer, spans)
    }
    const { page, problems } = await open(viewer, '/')
    // Before any of them is summed.
    await page.getByText('100,000 runs').waitFor()
    while (viewer.store.work(1_000)) await new Promise(setImmediate)
    const rows = page.locator('tr.run')
    await expect.poll(() => rows.count()).toBeGreaterThan(20)
    expect(await rows.count()).toBeLessThan(1_000)
    await page.goto(`${viewer.url}/?q=${encodeURIComponent('agent:agent-77')}&sort=-duration`)
    await page.getByText('1,000 runs').waitFor()
    await rows.first().getByRole('link').first().click()
    await page.locator('main.run-page h1').getByText('agent-77').waitFor()
    expect(problems).toEqual([])
  },
  SUMMING_MS,
)

it('1,000 events on a span', async () => {
  const viewer = await view()
  const events = Array.from({ length: EVENTS }, (_, at) => ({
    name: `event-${at}`,
    at: at / 10,
    attributes: { number: at, text: `what happened ${at}` },
  }))
  await send(viewer, [
    agent('busy'),
    { spanId: id(2), parentSpanId: id(1), name: 'noisy', start: 1, end: 99, events },
  ])
  const { page, problems } = await open(viewer, `/run/${TRACE}`)
  await page.locator('.timeline-rows .row', { hasText: 'noisy' }).click()
  const panel = page.locator('aside, .panel, .panel-body').filter({ hasText: 'noisy' }).first()
  await panel.getByText('event-0', { exact: false }).first().waitFor()
  await panel
    .getByText(`event-${EVENTS - 1}`)
    .first()
    .waitFor({ state: 'attached' })
  await page.keyboard.press('Escape')
  await page.keyboard.press('5')
  await page.getByText('event-0').first().waitFor()
  expect(problems).toEqual([])
})

it('right-to-left text, beside left-to-right, each in its direction', async () => {
  const viewer = await view()
  const asked = 'مرحبا، أريد إلغاء رحلتي رقم LX-2041 من فضلك'
  const answered = 'בוטלה ההזמנה LX-2041'
  await send(viewer, [
    agent('סוכן'),
    chat(2, [says('user', asked)], says('assistant', answered)),
    chat(
      3,
      [says('user', asked), says('assistant', answered), says('user', 'Thank you')],
      says('assistant', 'Bye'),
    ),
  ])
  const { page, problems } = await open(viewer, `/run/${TRACE}?view=conversation`)
  const directionOf = (text: string) =>
    page
      .locator('#view')
      .getByText(text)
      .first()
      .evaluate((element) => getComputedStyle(element).direction)
  expect(await directionOf(asked)).toBe('rtl')
  expect(await directionOf(answered)).toBe('rtl')
  expect(await directionOf('Thank you')).toBe('ltr')
  expect(await findFlaws(page)).toEqual([])
  await page.screenshot({ path: `${SHOTS}deep-rtl.png` })
  await page.goto(`${viewer.url}/`)
  await page.locator('tr.run').getByText('סוכן').waitFor()
  expect(await findFlaws(page)).toEqual([])
  expect(problems).toEqual([])
})

it('three viewers on one file: what one takes in, and what is marked in one, the others show', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-three-'))
  ends.push(() => rmSync(folder, { recursive: true }))
  const db = join(folder, 'traces.db')
  const viewers = [await view({ db }), await view({ db }), await view({ db })]
  for (const [at, viewer] of viewers.entries()) {
    const traceId = SAMPLE_TRACE.replace(/^5/, `${at}`)
    expect((await post(viewer, sampleRun({ traceId, atMs: -30_000 * (at + 1) }))).status).toBe(200)
  }
  const opened = []
  for (const viewer of viewers) {
    const { page, problems } = await open(viewer, '/')
    await expect.poll(() => page.locator('tr.run').count()).toBe(3)
    await page.getByText('3 runs', { exact: true }).waitFor()
    opened.push({ page, problems })
  }
  await opened[0]!.page.keyboard.press('j')
  await opened[0]!.page.keyboard.press('+')
  await opened[0]!.page.locator('tr.run').getByText('Good', { exact: true }).waitFor()
  await opened[2]!.page.reload()
  await opened[2]!.page.locator('tr.run').getByText('Good', { exact: true }).waitFor()
  for (const { problems } of opened) expect(problems).toEqual([])
})

it('a store of the version before, with what was in it; and one of a version that nobody knows, set aside', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-older-'))
  ends.push(() => rmSync(folder, { recursive: true }))
  const db = join(folder, 'traces.db')
  const before = await startViewer({ db, port: 0 })
  await post(before, sampleRun())
  await before.close()
  const old = new DatabaseSync(db)
  old.exec('DROP INDEX run_figures')
  for (const column of ['mark', 'note', 'labels', 'estimated_usd'])
    old.exec(`ALTER TABLE run DROP COLUMN ${column}`)
  old.exec('PRAGMA user_version = 5')
  old.close()
  const first = await startViewer({ db, port: 0 })
  const { page, problems } = await open(first, '/')
  await page.locator('tr.run').getByText('support').first().waitFor()
  await page.locator('tr.run').getByRole('link').first().click()
  await page.locator('.timeline-rows .row', { hasText: 'search_bookings' }).waitFor()
  expect(problems).toEqual([])
  await page.close()
  await first.close()

  const unknown = new DatabaseSync(db)
  unknown.exec('PRAGMA user_version = 99')
  unknown.close()
  const notices: string[] = []
  const second = await view({ db, onNotice: (notice) => notices.push(notice) })
  expect(notices).toEqual([`Another version of the viewer wrote ${db}; that is kept as ${db}.v99.`])
  const empty = await open(second, '/')
  await empty.page.getByText('Waiting for the first run').waitFor()
  expect(empty.problems).toEqual([])
})
