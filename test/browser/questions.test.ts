/** What one asks of runs, each answered from the list by at most three keys, or clicks. What is typed into a field counts as one. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sampleRun } from '../viewer/sample-run.ts'
import { id, otlp, post, runSpan, type TestSpan } from '../viewer/support.ts'
import { launch } from './support.ts'

let browser: Browser
let viewer: Viewer
const call = (step: number): TestSpan[] => [
  {
    traceId: 'd'.repeat(32),
    spanId: id(100 + step),
    parentSpanId: id(1),
    name: `step ${step}`,
    start: step * 10,
    end: step * 10 + 9,
    attributes: { 'hookspan.step.index': step },
  },
  {
    traceId: 'd'.repeat(32),
    spanId: id(200 + step),
    parentSpanId: id(100 + step),
    name: 'chat m',
    start: step * 10 + 1,
    end: step * 10 + 8,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.input.messages': JSON.stringify([
        { role: 'user', parts: [{ type: 'text', content: `seen at step ${step}` }] },
      ]),
    },
  },
]

beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, sampleRun({ traceId: 'b'.repeat(32), atMs: -900_000 }))
  const reworded = (spans: TestSpan[]) =>
    JSON.parse(JSON.stringify(spans).replaceAll('I found it.', 'There it is.')) as TestSpan[]
  await post(viewer, sampleRun({ edit: reworded }))
  const failed = { traceId: 'c'.repeat(32), error: 'the bank said no', name: 'invoke_agent teller' }
  await post(viewer, otlp([runSpan('error', { ...failed, attributes: { 'gen_ai.agent.name': 'teller' } })]))
  const long = runSpan('done', {
    traceId: 'd'.repeat(32),
    end: 130,
    attributes: { 'gen_ai.agent.name': 'long' },
  })
  await post(viewer, otlp([long, ...Array.from({ length: 12 }, (_, step) => call(step)).flat()]))
})
afterAll(async () => {
  await browser.close()
  await viewer.close()
})

interface Question {
  /** What the list shows. */
  list: string
  keys: string[]
  clicks: ((page: Page) => Promise<void>)[]
  answer: (page: Page) => Promise<void>
}

const inSight = async (page: Page, selector: string, text: string | RegExp) => {
  const place = page.locator(selector, { hasText: text }).first()
  await place.waitFor()
  await expect
    .poll(() =>
      place.evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect()
        return top >= 0 && bottom <= innerHeight
      }),
    )
    .toBe(true)
}
const firstRun = (page: Page) => page.locator('tr.run a').first().click()
const press = (name: string) => (page: Page) =>
  page
    .getByRole('button', { name, exact: true })
    .or(page.getByRole('link', { name, exact: true }))
    .first()
    .click()
const tab = (name: string) => (page: Page) => page.getByRole('tab', { name: new RegExp(`^${name}`) }).click()

const QUESTIONS: Record<string, Question> = {
  'why did it fail': {
    list: '/?q=agent:teller',
    keys: ['j', 'Enter'],
    clicks: [firstRun],
    answer: (page) => inSight(page, '.why-line', 'the bank said no'),
  },
  'where did the time go, and the money': {
    list: '/?q=agent:support',
    keys: ['j', 'Enter', '2'],
    clicks: [firstRun, tab('Tree')],
    answer: async (page) => {
      await inSight(page, '.legend li', /Model \d+ ?%/)
      await inSight(page, '.row', /researcher.*\$0\.\d+/)
    },
  },
  'what did the model see at step 7': {
    list: '/?q=agent:long',
    keys: ['j', 'Enter', ':7\n'],
    clicks: [
      firstRun,
      tab('Conversation'),
      async (page) => {
        const { width } = (await page.locator('.growth svg').boundingBox())!
        await page.locator('.growth svg').click({ position: { x: (7.5 / 12) * width, y: 10 } })
      },
    ],
    answer: (page) => inSight(page, '.item', /^\W*(User)?.*seen at step 7/),
  },
  'what changed between this run and the one before': {
    list: '/?q=agent:support',
    keys: ['j', 'c'],
    clicks: [
      (page) => page.locator('tr.run input[type=checkbox]').nth(1).click(),
      (page) => page.locator('tr.run input[type=checkbox]').nth(0).click(),
      (page) => page.locator('.floating').getByRole('button', { name: 'Compare' }).click(),
    ],
    answer: async (page) => {
      await inSight(page, '.parting', 'Diverges here: reply')
      expect(await page.locator('.pair.diverges .reply').allInnerTexts()).toEqual([
        expect.stringContaining('I found it.'),
        expect.stringContaining('There it is.'),
      ])
    },
  },
  'which results were mocked': {
    list: '/?q=agent:support',
    keys: ['j', 'Enter'],
    clicks: [firstRun],
    answer: (page) => inSight(page, '.row', /search_bookings.*mocked/),
  },
  'who approved it': {
    list: '/?q=agent:support',
    keys: ['j', 'Enter'],
    clicks: [firstRun],
    answer: (page) => inSight(page, '.run-title .badge', /answered\s*by ines \(claimed\)/),
  },
  'what was approved, and when': {
    list: '/?q=agent:support',
    keys: ['j', 'Enter', '/is:human\n'],
    clicks: [firstRun, press('answered by ines (claimed)')],
    answer: (page) => inSight(page, '.row', /Approval.*approved by ines \(claimed, page\) after 5\.40 s/),
  },
  'which tool fails how often over these runs': {
    list: '/?q=agent:support',
    keys: ['b'],
    clicks: [press('Tools')],
    answer: (page) => inSight(page, '.uses tbody tr', /fetch_page\s*2\s*4\s*2 50 %/),
  },
}

for (const [question, { list, keys, clicks, answer }] of Object.entries(QUESTIONS)) {
  it.each(['keys', 'clicks'])(`${question}: by %s`, async (by) => {
    expect(Math.max(keys.length, clicks.length)).toBeLessThanOrEqual(3)
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    page.setDefaultTimeout(6_000)
    await page.goto(viewer.url + list)
    await page.locator('tr.run').first().waitFor()
    if (by === 'clicks') for (const click of clicks) await click(page)
    else
      for (const key of keys) {
        if (key.length > 1 && key.endsWith('\n')) await page.keyboard.type(key)
        else await page.keyboard.press(key)
        // As a hand does: the page of the run is there before the next one.
        if (key === 'Enter') await page.waitForSelector('main.run-page:not([aria-busy])')
      }
    await answer(page)
    await page.close()
  })
}
