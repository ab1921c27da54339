/** Open pages while spans come, viewers end and begin again, and others take spans in. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { databaseFile } from '../viewer/start.ts'
import { id, nowMs, otlp, post, runSpan, type TestSpan, TRACE } from '../viewer/support.ts'
import { launch } from './support.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())

async function view(options: Parameters<typeof startViewer>[0] = {}): Promise<Viewer> {
  const viewer = await startViewer({ db: ':memory:', port: 0, ...options })
  onTestFinished(() => viewer.close())
  return viewer
}

async function open(url: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  onTestFinished(() => page.close())
  await page.goto(url)
  await page.waitForSelector('main:not([aria-busy])')
  return page
}

const STARTED = { 'hookspan.span.state': 'started' }
const begun = (span: TestSpan): TestSpan => ({
  ...span,
  end: 0,
  attributes: { ...span.attributes, ...STARTED },
})
const child = (number: number): TestSpan => ({
  spanId: id(number),
  parentSpanId: id(1),
  name: `child ${number}`,
  start: nowMs(),
  end: nowMs(),
})
const names = (page: Page) => page.locator('.row .what').allInnerTexts()

it('the list goes on while runs change more often than it is answered', async () => {
  const viewer = await view()
  const page = await open(viewer.url)
  await page.route('**/api/runs?*', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 600))
    await route.continue()
  })
  let number = 0
  const sending = setInterval(() => {
    number++
    void post(viewer, otlp([runSpan('done', { traceId: id(number).padStart(32, 'c') })]))
  }, 100)
  try {
    await page.locator('tr.run').first().waitFor()
  } finally {
    clearInterval(sending)
  }
  await page.unrouteAll({ behavior: 'wait' })
  await expect.poll(() => page.locator('tr.run').count(), { timeout: 20_000 }).toBe(number)
})

it.each(['memory', 'a file'])(
  'every page of a run goes on with a viewer of %s that was started again',
  async (kept) => {
    const db = kept === 'memory' ? ':memory:' : databaseFile()
    const first = await view({ db })
    const root = begun(runSpan('', { start: nowMs() }))
    await post(first, otlp([root, ...Array.from({ length: 6 }, (_, at) => child(at + 2))]))
    const pages = [await open(`${first.url}/run/${TRACE}`), await open(`${first.url}/run/${TRACE}?view=tree`)]
    for (const page of pages) await expect.poll(() => names(page)).toHaveLength(7)
    const port = Number(new URL(first.url).port)
    await first.close()
    const second = await view({ db, port })
    if (kept === 'memory') await post(second, otlp([root]))
    await post(second, otlp([child(20)]))
    for (const page of pages)
      await expect.poll(() => names(page), { timeout: 20_000 }).toHaveLength(kept === 'memory' ? 2 : 8)
    await post(
      second,
      otlp([{ ...root, end: nowMs(), attributes: { ...root.attributes, 'hookspan.span.state': '' } }]),
    )
    for (const page of pages)
      await expect
        .poll(() => page.locator('.run-header .status').first().innerText())
        .not.toContain('Running')
  },
)

it('what one came for in a run that goes on stays in sight', async () => {
  const viewer = await view()
  await post(
    viewer,
    otlp([begun(runSpan('', { start: nowMs() })), ...Array.from({ length: 80 }, (_, at) => child(at + 2))]),
  )
  const isInSight = (page: Page, number: number) =>
    page.evaluate(
      (row) => {
        const list = document.querySelector('.timeline-rows')!.getBoundingClientRect()
        const box = document.getElementById(row)?.getBoundingClientRect()
        return box !== undefined && box.top >= list.top - 1 && box.bottom <= list.bottom + 1
      },
      `row-${id(number)}`,
    )
  // By a link to a span, at the top and at the end, and by the keys.
  const linked = await open(`${viewer.url}/run/${TRACE}?span=${id(4)}`)
  const last = await open(`${viewer.url}/run/${TRACE}?span=${id(81)}`)
  const walked = await open(`${viewer.url}/run/${TRACE}`)
  await expect.poll(() => isInSight(walked, 81)).toBe(true)
  await walked.keyboard.press('Home')
  await walked.keyboard.press('j')
  for (let number = 82; number < 130; number += 12) {
    await post(viewer, otlp(Array.from({ length: 12 }, (_, at) => child(number + at))))
    for (const page of [linked, last, walked])
      await expect
        .poll(() =>
          page
            .locator('.spacer')
            .first()
            .evaluate((list) => list.clientHeight / 30),
        )
        .toBe(number + 11)
  }
  expect(await isInSight(linked, 4)).toBe(true)
  expect(await isInSight(last, 81)).toBe(true)
  expect(await isInSight(walked, 2)).toBe(true)
  // To go on is one click.
  await linked.getByRole('button', { name: 'Follow' }).click()
  await expect.poll(() => isInSight(linked, 129)).toBe(true)
})

it('a page shows what another viewer of the file takes in', async () => {
  const db = databaseFile()
  const [one, other] = [await view({ db }), await view({ db })]
  const root = begun(runSpan('', { start: nowMs() }))
  await post(one, otlp([root]))
  const [list, run] = [await open(other.url), await open(`${other.url}/run/${TRACE}`)]
  await expect.poll(() => names(run)).toHaveLength(1)
  await post(one, otlp([child(2), runSpan('done', { traceId: 'd'.repeat(32), name: 'invoke_agent late' })]))
  await expect.poll(() => names(run)).toHaveLength(2)
  await expect.poll(() => list.locator('tr.run').count()).toBe(2)
  await expect.poll(() => list.locator('.store').innerText()).toContain('3 spans')
})

/** As another tab in front of it makes it; there is none in front of another here. */
const turn = (page: Page, isHidden: boolean) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)

it('a page that nobody sees asks for nothing, and shows all of it once it is seen', async () => {
  const viewer = await view()
  const [behind, front] = [await open(viewer.url), await open(viewer.url)]
  const asked: string[] = []
  const connected = behind.waitForRequest('**/api/live?hidden')
  await turn(behind, true)
  await connected
  // What it asks for as it is connected.
  await post(viewer, otlp([runSpan('done', { traceId: 'a'.repeat(32) })]))
  await front.locator('tr.run').first().waitFor()
  behind.on('request', (request) => asked.push(new URL(request.url()).pathname))
  for (let number = 1; number <= 3; number++) {
    await post(viewer, otlp([runSpan('done', { traceId: String(number).repeat(32) })]))
    await expect.poll(() => front.locator('tr.run').count()).toBe(number + 1)
  }
  // The size of the store was due already, and so may be the numbers above the list, which it asks for a while after the list.
  const due = ['/api/status', '/api/numbers']
  expect(asked.filter((path) => !due.includes(path))).toEqual([])
  expect(asked.filter((path) => path === '/api/numbers').length).toBeLessThan(2)
  await turn(behind, false)
  await expect.poll(() => behind.locator('tr.run').count()).toBe(4)
  await post(viewer, otlp([runSpan('done', { traceId: 'b'.repeat(32) })]))
  await expect.poll(() => behind.locator('tr.run').count()).toBe(5)
})

it('each page is called by what it shows', async () => {
  const viewer = await view()
  const asks = {
    'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Refund\u202e 7"}]}]',
  }
  await post(
    viewer,
    otlp([runSpan('done', { attributes: asks }), runSpan('done', { traceId: 'd'.repeat(32) })]),
  )
  const page = await open(viewer.url)
  const titles: string[] = [await page.title()]
  const two = `${TRACE}/${'d'.repeat(32)}`
  for (const path of ['/?q=status%3Aok', `/run/${TRACE}`, '/by/tool', `/compare/${two}`, '/nothing']) {
    await page.goto(viewer.url + path)
    await page.waitForSelector('main:not([aria-busy])')
    titles.push(await page.title())
  }
  expect(titles).toMatchInlineSnapshot(`
    [
      "hookspan",
      "status:ok · hookspan",
      "a: Refund⟦RLO⟧ 7 · hookspan",
      "Tools · hookspan",
      "Compare: a | a · hookspan",
      "No such page · hookspan",
    ]
  `)
  // Also without a new document.
  await page.goto(viewer.url)
  await page.locator('tr.run a', { hasText: 'Refund' }).click()
  await expect.poll(() => page.title()).toBe(titles[2])
  await page.keyboard.press('u')
  await expect.poll(() => page.title()).toBe(titles[0])
})

it('that a run was removed while it is open is said, until it is there again; what was read stays', async () => {
  const viewer = await view()
  const run = () => post(viewer, otlp([runSpan('done', { end: 90 }), child(2)]))
  await run()
  const page = await open(`${viewer.url}/run/${TRACE}`)
  await expect.poll(() => names(page)).toHaveLength(2)
  const removed = await fetch(`${viewer.url}/api/runs/${TRACE}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${viewer.token}` },
  })
  expect(removed.status).toBe(200)
  const said = page.getByRole('alert')
  await expect
    .poll(() => said.innerText())
    .toMatch(/^No such run .* may have been removed.* what was read of it before\.$/)
  expect(await names(page)).toHaveLength(2)
  await run()
  await expect.poll(() => said.count()).toBe(0)
})
