/** The timeline of a run: its map, its filter, its end; the graph; and what of it a small window shows. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { id, otlp, post, type TestSpan } from '../viewer/support.ts'
import { axe, findFlaws, launch, openPage, SHOTS } from './support.ts'

let browser: Browser
let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, sampleRun())
})
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
})
afterAll(async () => {
  await browser.close()
  await viewer.close()
})

const open = (path: string, size?: [number, number]) => openPage(browser, viewer.url + path, size)

const run = `/run/${SAMPLE_TRACE}`
const names = (page: Page) => page.locator('.row .what').allInnerTexts()
const found = (page: Page) => page.locator('.found').innerText()

it('a drag over the map shows that part, its edges move it, and a double click shows all of it again', async () => {
  const { page, problems } = await open(run)
  const all = await names(page)
  const map = (await page.locator('.minimap').boundingBox())!
  const at = (share: number) => map.x + map.width * share
  await page.mouse.move(at(0.3), map.y + 20)
  await page.mouse.down()
  await page.mouse.move(at(0.35), map.y + 20, { steps: 4 })
  await page.mouse.up()
  // From 6.4 s to 7.5 s: both calls of fetch_page, and where they are.
  await expect
    .poll(() => names(page))
    .toEqual(['support', 'step 1', 'researcher', 'step 0', 'fetch_page', 'fetch_page'])
  expect(await found(page)).toBe('6 of 25')
  expect(await page.locator('.timeline-head .tick').first().innerText()).toMatch(/^6\.4\d s$/)
  expect(await findFlaws(page)).toEqual([])
  await page.screenshot({ path: `${SHOTS}timeline-zoomed.png` })
  // What goes beyond the part does not stand out of its column.
  const column = (await page.locator('.timeline-head .c-bar').boundingBox())!
  for (const bar of await page.locator('.row .bar').all()) {
    const box = (await bar.boundingBox())!
    expect(box.x).toBeGreaterThanOrEqual(column.x - 1)
    expect(box.x + box.width).toBeLessThanOrEqual(column.x + column.width + 1)
  }
  await page.getByRole('slider', { name: 'Timeline to' }).focus()
  for (let times = 0; times < 3; times++) await page.keyboard.press('ArrowRight')
  await expect.poll(() => names(page)).toContain('gpt-4o')
  await page.locator('.minimap').dblclick({ position: { x: 5, y: 15 } })
  await expect.poll(() => names(page)).toEqual(all)
  expect(problems).toEqual([])
})

it('the part that is shown is in the address, and comes with it', async () => {
  const { page, problems } = await open(run)
  const all = await names(page)
  await page.keyboard.press('e')
  await page.waitForSelector('.panel')
  await page.keyboard.press('z')
  await expect.poll(() => names(page)).toHaveLength(7)
  await expect.poll(() => new URL(page.url()).searchParams.get('zoom')).toMatch(/^0\.\d+,0\.\d+$/)
  const part = await names(page)
  const told = await page.locator('.chip.on').innerText()
  const again = await open(new URL(page.url()).pathname + new URL(page.url()).search)
  await expect.poll(() => names(again.page)).toEqual(part)
  expect(await again.page.locator('.chip.on').innerText()).toBe(told)
  // It stays while another view is looked at.
  await again.page.keyboard.press('3')
  await again.page.locator('.conversation').waitFor()
  await again.page.keyboard.press('1')
  await expect.poll(() => names(again.page)).toEqual(part)
  await again.page.keyboard.press('0')
  await expect.poll(() => names(again.page)).toEqual(all)
  await expect.poll(() => new URL(again.page.url()).searchParams.has('zoom')).toBe(false)
  for (const none of ['0.5', '0.9,0.1', '-1,2', 'a,b', '0.1,0.2,0.3', ',']) {
    const whole = await open(`${run}?zoom=${none}`)
    expect(await names(whole.page)).toEqual(all)
    expect(whole.problems).toEqual([])
    await whole.page.close()
  }
  // Also where one leaves before the address has it, or before it is drawn.
  await page.keyboard.press('0')
  await expect.poll(() => new URL(page.url()).searchParams.has('zoom')).toBe(false)
  await page.evaluate(() => {
    for (const key of ['z', '3'])
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
  })
  await page.locator('.conversation').waitFor()
  await page.keyboard.press('1')
  await expect.poll(() => names(page)).toEqual(part)
  expect([...problems, ...again.problems]).toEqual([])
  await again.page.close()
  await page.close()
})

it('keys zoom: to the row, in and out, and to all of it', async () => {
  const { page } = await open(run)
  const all = await names(page)
  await page.keyboard.press('e')
  await page.waitForSelector('.panel')
  await page.keyboard.press('z')
  await expect.poll(() => names(page)).toHaveLength(7)
  const few = await page.locator('.chip.on').innerText()
  await page.keyboard.press('<')
  await expect.poll(() => page.locator('.chip.on').innerText()).not.toBe(few)
  await page.keyboard.press('0')
  await expect.poll(() => names(page)).toEqual(all)
  // The wheel with Control zooms around the pointer.
  const bar = (await page.locator('.row .c-bar').nth(3).boundingBox())!
  await page.mouse.move(bar.x + bar.width / 2, bar.y + 5)
  await page.keyboard.down('Control')
  await page.mouse.wheel(0, -200)
  await page.keyboard.up('Control')
  await page.waitForSelector('.brushed')
})

it('a search leaves what matches and the way to it, and says of how many', async () => {
  const { page } = await open(run)
  const all = (await names(page)).length
  await page.keyboard.press('/')
  await page.keyboard.type('fetch_page')
  await expect.poll(() => page.locator('.row:not(.dim)').count()).toBeLessThan(all / 2)
  await expect.poll(() => found(page)).toMatch(/^\d+ of 25$/)
  const bright = page.locator('.row:not(.dim)')
  await expect.poll(async () => (await found(page)) === `${await bright.count()} of 25`).toBe(true)
  expect(await page.locator('.row.dim .what').allInnerTexts()).toContain('researcher')
  await page.getByRole('searchbox', { name: 'Search in this run' }).fill('')
  await expect.poll(() => names(page)).toHaveLength(all)
})

it('a search that the viewer does not answer says so, and is made again', async () => {
  const { page } = await open(run)
  await page.route('**/api/search*', (route) => route.abort())
  const all = (await names(page)).length
  await page.keyboard.press('/')
  await page.keyboard.type('fetch_page')
  await expect.poll(() => found(page)).toMatch(/^\d+ of 25, the words of spans could not be searched$/)
  await page.unroute('**/api/search*')
  await expect.poll(() => found(page)).toMatch(/^\d+ of 25$/)
  expect(all).toBeGreaterThan(2)
})

it('the critical path leaves its rows', async () => {
  const { page } = await open(run)
  await page.keyboard.press('p')
  await expect.poll(() => names(page)).not.toContain('drop_table')
  expect(await names(page)).toContain('cancel_booking')
})

it('a gate that let a call pass is a mark on its call, until it is asked for', async () => {
  const { page } = await open(run)
  expect(await names(page)).not.toContain('tool-policy')
  expect(await names(page)).toContain('sql-guard')
  const call = page.locator('.row', { hasText: 'search_bookings' })
  expect(await call.locator('.passed').getAttribute('title')).toBe('1 gate let it pass')
  await page.keyboard.press('o')
  await expect.poll(() => names(page)).toContain('tool-policy')
  expect(await call.locator('.passed').count()).toBe(0)
  await page.reload()
  await page.waitForSelector('.row:has-text("tool-policy")')
})

it('a run that goes on is followed at its end until somebody scrolls, and again when they are back', async () => {
  const traceId = 'f0110'.padEnd(32, '0')
  let count = 0
  const grow = async (by: number) => {
    const spans = Array.from({ length: by }, (): TestSpan => {
      count++
      return {
        traceId,
        spanId: id(count + 1),
        parentSpanId: id(1),
        name: `span ${count}`,
        start: count * 10,
        end: count * 10 + 5,
      }
    })
    await post(viewer, otlp(spans))
  }
  await post(
    viewer,
    otlp([
      {
        traceId,
        spanId: id(1),
        name: 'invoke_agent long',
        start: 0,
        end: 0,
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'long',
          'hookspan.span.state': 'started',
        },
      },
    ]),
  )
  await grow(60)
  const { page } = await open(`/run/${traceId}`)
  const last = () => page.locator('.row .what', { hasText: new RegExp(`^span ${count}$`) })
  const follow = page.getByRole('button', { name: 'Follow' })
  await last().waitFor()
  await grow(20)
  await last().waitFor()
  expect(await follow.getAttribute('aria-pressed')).toBe('true')
  await page.locator('.timeline-rows').hover()
  await page.mouse.wheel(0, -900)
  await expect.poll(() => follow.getAttribute('aria-pressed')).toBe('false')
  const top = () => page.locator('.timeline-rows').evaluate((element) => element.scrollTop)
  const before = await top()
  await grow(20)
  await expect.poll(() => page.locator('.spacer').evaluate((element) => element.clientHeight)).toBe(101 * 30)
  expect(await top()).toBe(before)
  await page.mouse.wheel(0, 9_000)
  await expect.poll(() => follow.getAttribute('aria-pressed')).toBe('true')
  await grow(20)
  await last().waitFor()
})

it('the panel and the names are as wide as they were dragged', async () => {
  const { page } = await open(`${run}?span=${id(4)}`)
  const panel = page.locator('.panel')
  const name = page.locator('.timeline-head .c-name')
  const widthOf = async (locator: typeof panel) => (await locator.boundingBox())!.width
  const before = await widthOf(panel)
  const edge = (await page.getByRole('separator', { name: 'Width of the panel' }).boundingBox())!
  await page.mouse.move(edge.x + edge.width / 2, edge.y + 200)
  await page.mouse.down()
  await page.mouse.move(edge.x - 120, edge.y + 200, { steps: 4 })
  await page.mouse.up()
  expect(await widthOf(panel)).toBeGreaterThan(before + 100)
  const names = await widthOf(name)
  await page.getByRole('separator', { name: 'Width of the names' }).focus()
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('ArrowLeft')
  expect(await widthOf(name)).toBeCloseTo(names - 48, 0)
  const kept = [await widthOf(panel), await widthOf(name)]
  await page.reload()
  await page.waitForSelector('.panel-facts')
  expect([await widthOf(panel), await widthOf(name)]).toEqual(kept)
  expect(await findFlaws(page)).toEqual([])
})

/** Twelve agents with five tools each, of which one fails once in ten calls. */
function wide(traceId: string): TestSpan[] {
  const spans: TestSpan[] = []
  const add = (parentSpanId: string, kind: 'agent' | 'tool', name: string, error = false) => {
    const spanId = id(spans.length + 1)
    const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name }
    const tool = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name }
    spans.push({
      traceId,
      spanId,
      parentSpanId,
      name,
      start: spans.length,
      end: spans.length + 10,
      attributes: kind === 'agent' ? agent : tool,
      ...(error && { error: 'failed' }),
    })
    return spanId
  }
  const top = add('', 'agent', 'top')
  for (let agent = 0; agent < 12; agent++) {
    const inner = add(top, 'agent', `agent ${agent}`)
    for (let tool = 0; tool < 5; tool++)
      for (let call = 0; call < 10; call++)
        add(inner, 'tool', `tool ${agent} ${tool}`, tool === 0 && call === 0)
  }
  return spans
}

it('the graph fits, zooms, and tells shares rather than single failures', async () => {
  const traceId = '9a9'.padEnd(32, '0')
  await post(viewer, otlp(wide(traceId)))
  const { page, problems } = await open(`/run/${traceId}?view=graph`)
  const graph = page.locator('.graph')
  await page.waitForSelector('.node')
  const overflow = () =>
    graph.evaluate(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) => [
      scrollWidth - clientWidth,
      scrollHeight - clientHeight,
    ])
  const zoom = () => page.locator('.zoom-now').innerText()
  // What cannot be read where all of it is in sight is shown from who called whom first.
  await expect.poll(zoom).toBe('90%')
  const top = await page.locator('.node', { hasText: 'top' }).boundingBox()
  expect(top?.y).toBeLessThan(400)
  await page.keyboard.press('0')
  await expect.poll(zoom).not.toBe('90%')
  // All of it, or as small as can be seen.
  if ((await zoom()) !== '20%') expect(await overflow()).toEqual([0, 0])
  const small = await zoom()
  await page.keyboard.press('>')
  await expect.poll(zoom).not.toBe(small)
  await page.keyboard.press('0')
  await expect.poll(zoom).toBe(small)
  const node = page.locator('.node', { hasText: 'tool 3 0' })
  const share = () => node.evaluate((element) => (element as HTMLElement).style.getPropertyValue('--share'))
  expect(await share()).toBe('1.7%')
  await page.getByRole('button', { name: 'failed calls' }).click()
  await expect.poll(share).toBe('10%')
  expect(await node.getAttribute('title')).toContain('10% failed, 1 failed, 10 calls')
  await page.screenshot({ path: `${SHOTS}graph-wide.png` })
  expect(problems).toEqual([])
  const isCut = (hints: Element[]) =>
    hints.flatMap((one) => (one.scrollWidth > one.clientWidth ? [one.textContent] : []))
  expect(await page.locator('.node .hint').evaluateAll(isCut)).toEqual([])
  const sample = await open(`${run}?view=graph`)
  await sample.page.waitForSelector('.node')
  expect(await sample.page.locator('.node .hint').evaluateAll(isCut)).toEqual([])
  const refused = sample.page.locator('.node', { hasText: 'drop_table' })
  expect(await refused.locator('.hint').innerText()).toMatch(/of time · refused · [\d.]+ m?s$/)
  await sample.page.getByRole('button', { name: 'failed calls' }).click()
  await expect.poll(() => refused.locator('.hint').innerText()).toMatch(/^100% failed · refused/)
})

it('the graph can be read on a phone, from who called whom first, and all of it is one key away', async () => {
  const { page } = await open(`${run}?view=graph`, [390, 844])
  const first = page.locator('.node').first()
  await first.waitFor()
  const letters = () =>
    first
      .locator('.label')
      .evaluate((label) => (label.getBoundingClientRect().height / label.clientHeight) * 13)
  expect(await letters()).toBeGreaterThan(11)
  const inSight = await page
    .locator('.node')
    .evaluateAll((all) =>
      all.flatMap((one) => (one.getBoundingClientRect().right <= innerWidth ? [one.textContent] : [])),
    )
  expect(inSight[0]).toContain('support')
  expect(inSight.length).toBeGreaterThan(3)
  expect(await findFlaws(page)).toEqual([])
  await page.screenshot({ path: `${SHOTS}graph-phone.png` })
  await page.keyboard.press('0')
  const overflow = () => page.locator('.graph').evaluate((it) => it.scrollWidth - it.clientWidth)
  await expect.poll(overflow).toBe(0)
})

it('on a phone a long name gives way to what became of the call', async () => {
  const traceId = '9b9'.padEnd(32, '0')
  const inside = (at: number, name: string, attributes: object = {}): TestSpan => ({
    traceId,
    spanId: id(at),
    ...(at > 1 && { parentSpanId: id(at - 1) }),
    name,
    start: at,
    end: 20 - at,
    attributes: attributes as TestSpan['attributes'],
  })
  const gate = { 'hookspan.gate.id': 'no-customer-data-outside', 'hookspan.gate.decision': 'deny' }
  await post(
    viewer,
    otlp([
      ...[1, 2, 3, 4].map((at) => inside(at, `level ${at}`)),
      inside(5, 'execute_tool', {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'send_everything_to_the_customer',
        'hookspan.tool.outcome': 'denied',
      }),
      inside(6, 'gate no-customer-data-outside', { ...gate, 'hookspan.gate.enforced': true }),
    ]),
  )
  for (const view of ['timeline', 'tree']) {
    const { page } = await open(`/run/${traceId}?view=${view}`, [390, 844])
    const badges = page.locator('.row .c-name .badge')
    await expect.poll(() => badges.allInnerTexts()).toEqual(['denied', 'deny'])
    const flaws = await badges.evaluateAll((all) =>
      all.flatMap((badge) => {
        const room = badge.closest('.c-name')!.getBoundingClientRect().right
        const isWhole = badge.scrollWidth <= badge.clientWidth && badge.getBoundingClientRect().right <= room
        return isWhole ? [] : [badge.textContent]
      }),
    )
    expect(flaws, view).toEqual([])
  }
})

it.each([
  ['a phone', 390, 844],
  ['a phone, turned', 844, 390],
  ['200 % zoom', 640, 400],
  ['a narrow window', 480, 700],
] as const)('on %s half of the height is for the view', async (_name, width, height) => {
  const list = await open('/', [width, height])
  await list.page.locator('.sums').waitFor()
  const runs = await list.page.locator('.table-frame').boundingBox()
  expect(runs!.height, 'the list').toBeGreaterThanOrEqual(height / 2)
  expect(await findFlaws(list.page), 'the list').toEqual([])
  expect(await axe(list.page), 'the list').toEqual([])
  await list.page.screenshot({ path: `${SHOTS}list-${width}x${height}.png` })
  await list.page.close()
  for (const view of ['timeline', 'tree', 'conversation', 'graph', 'events', 'lint']) {
    const { page } = await open(`${run}?view=${view}`, [width, height])
    const inside = page.locator(
      { timeline: '.timeline-rows', tree: '.timeline-rows', conversation: '.conversation', graph: '.graph' }[
        view
      ] ?? '.view',
    )
    await inside.waitFor()
    expect((await inside.boundingBox())!.height, view).toBeGreaterThanOrEqual(height / 2)
    expect(await findFlaws(page), view).toEqual([])
    // What began and what ended look alike without a word, and a run of which only names are seen has no times.
    if (view === 'events') {
      const badges = page.locator('.event-line .badge:visible')
      await expect.poll(() => badges.count(), { timeout: 10_000 }).toBeGreaterThan(9)
    }
    if (view === 'timeline') {
      const bars = await page.locator('.row .c-bar').first().boundingBox()
      expect(bars!.width).toBeGreaterThanOrEqual(width < 480 ? 80 : width / 3)
    }
    await page.screenshot({ path: `${SHOTS}${view}-${width}x${height}.png` })
    await page.close()
  }
})

it('on a phone it is read in words that a tool was denied', async () => {
  const traceId = 'de'.padEnd(32, '1')
  const reason = 'a refund of €520 is more than the €260 that was paid'
  const spans: TestSpan[] = [
    {
      traceId,
      spanId: id(1),
      name: 'invoke_agent support',
      start: 0,
      end: 90,
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'support' },
    },
    {
      traceId,
      spanId: id(2),
      parentSpanId: id(1),
      name: 'execute_tool issue_refund',
      start: 10,
      end: 60,
      error: reason,
      attributes: { 'gen_ai.tool.name': 'issue_refund', 'hookspan.tool.outcome': 'denied' },
    },
  ]
  await post(viewer, otlp(spans))
  const { page } = await open(`/run/${traceId}`, [390, 844])
  const badge = page.locator('.row .badge-denied', { hasText: 'denied' }).first()
  await badge.waitFor()
  expect(await badge.evaluate((element) => element.scrollWidth - element.clientWidth)).toBeLessThanOrEqual(0)
  await page.close()
})

it('beside a panel in a narrow window no time of the axis covers another', async () => {
  const { page } = await open(`${run}?span=${id(17)}`, [1000, 625])
  expect(await page.locator('.timeline-head .tick:visible').count()).toBe(3)
  expect(await findFlaws(page)).toEqual([])
  await page.close()
})
