/** The conversation, and what the model saw at a step. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { id, otlp, post, type TestSpan } from '../viewer/support.ts'
import { findFlaws, launch, SHOTS, watch } from './support.ts'

const LONG = '10c0'.padEnd(32, '0')
const WRITTEN = '3d'.padEnd(32, '0')
const LARGE = '1a'.padEnd(32, '0')
const STEPS = 3_333
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mP8z8BQz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC'

let browser: Browser
let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, sampleRun())
  const spans = longRun()
  for (let at = 0; at < spans.length; at += 2_000) await post(viewer, otlp(spans.slice(at, at + 2_000)))
  await post(viewer, otlp(chatOf(WRITTEN, [written], report)))
  await post(viewer, otlp(chatOf(LARGE, [{ role: 'user', content: 'go' }], 'done', LARGE_TOOL)))
})
afterAll(async () => {
  await browser.close()
  await viewer.close()
})

const agentSpan = (traceId: string, name: string, start: number, end: number): TestSpan => ({
  traceId,
  spanId: id(1),
  name: `invoke_agent ${name}`,
  start,
  end,
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
})

/** Ten thousand spans: steps of a model call and a tool each. */
function longRun(): TestSpan[] {
  const spans: TestSpan[] = [agentSpan(LONG, 'long', -400_000, -1_000)]
  const history: object[] = []
  for (let at = 0; at < STEPS; at++) {
    const start = -399_000 + at * 100
    const [step, model, tool] = [id(10 + at * 3), id(11 + at * 3), id(12 + at * 3)]
    const said = {
      role: 'assistant',
      parts: [
        { type: 'text', content: `I look at page ${at}. ${'Some words. '.repeat(3 + (at % 40))}` },
        { type: 'tool_call', id: `c${at}`, name: 'search', arguments: { page: at } },
      ],
    }
    const found = { rows: [at, at + 1], text: 'found it '.repeat(at % 9) }
    const named = { 'gen_ai.tool.name': 'search', 'gen_ai.tool.call.id': `c${at}` }
    spans.push(
      {
        traceId: LONG,
        spanId: step,
        parentSpanId: id(1),
        name: 'step',
        start,
        end: start + 90,
        attributes: { 'hookspan.step.index': at },
      },
      {
        traceId: LONG,
        spanId: model,
        parentSpanId: step,
        name: 'chat m',
        start: start + 1,
        end: start + 50,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': 'm',
          'gen_ai.input.messages': JSON.stringify(history.slice(-6)),
          'gen_ai.output.messages': JSON.stringify([said]),
        },
      },
      {
        traceId: LONG,
        spanId: tool,
        parentSpanId: step,
        name: 'execute_tool search',
        start: start + 51,
        end: start + 89,
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          ...named,
          'gen_ai.tool.call.arguments': JSON.stringify({ page: at }),
          'gen_ai.tool.call.result': JSON.stringify(found),
        },
      },
    )
    history.push(said, {
      role: 'tool',
      parts: [{ type: 'tool_call_response', id: `c${at}`, response: found }],
    })
  }
  return spans
}

const LARGE_TOOL: TestSpan = {
  spanId: id(3),
  name: 'execute_tool list',
  start: -40_000,
  end: -39_000,
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'list',
    'gen_ai.tool.call.result': JSON.stringify({
      rows: Array.from({ length: 50_000 }, (_, at) => ({ number: at, name: `row ${at}` })),
    }),
  },
}

function chatOf(traceId: string, input: object[], answer: string, more?: TestSpan): TestSpan[] {
  const model: TestSpan = {
    traceId,
    spanId: id(2),
    parentSpanId: id(1),
    name: 'chat',
    start: -59_000,
    end: -51_000,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.input.messages': JSON.stringify(input),
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', content: answer }]),
    },
  }
  const all = [agentSpan(traceId, 'writer', -60_000, -30_000), model]
  return more ? [...all, { ...more, traceId, parentSpanId: id(1) }] : all
}

const written = {
  role: 'user',
  parts: [
    { type: 'text', content: 'What is on this?' },
    { type: 'blob', modality: 'image', mime_type: 'image/png', content: PNG },
    { type: 'image_url', image_url: { url: 'https://example.com/elsewhere.png' } },
  ],
}
const report = [
  '# Report\n\n| city | price |\n|---|---:|\n| Lisbon | 412.50 |\n\n1. first\n2. second\n   - nested',
  '```ts\nconst a = 1 < 2\n```',
  '<img src="https://example.com/y.png" onerror="document.title=1"> <script>document.title=2</script>',
  '![a](https://example.com/x.png) [bad](javascript:document.title=3) [good](https://example.com/)',
  `![drawn](data:image/png;base64,${PNG})`,
  'שלום עולם, זה טקסט מימין לשמאל.',
].join('\n\n')

async function open(path: string): Promise<{ page: Page; problems: string[]; asked: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  const problems = watch(page)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.goto(viewer.url + path)
  await page.waitForSelector('main:not([aria-busy])')
  return { page, problems, asked }
}

const nodes = (page: Page) => page.evaluate(() => document.querySelectorAll('*').length)
/** At the upper edge of what is in sight. */
const topStep = (page: Page) => page.locator('.step-jump .hint').innerText()

it('a conversation of ten thousand spans has as many elements as are in sight', async () => {
  const { page, problems } = await open(`/run/${LONG}?view=conversation`)
  await page.waitForSelector('.bubble:has-text("I look at page 0.")')
  expect(await nodes(page)).toBeLessThan(2_500)
  await expect.poll(() => topStep(page)).toBe(`step 0, call 1 of ${STEPS.toLocaleString('en')}`)
  expect(await nodes(page)).toBeLessThan(2_500)
  await page.locator('.conversation').evaluate((element) => {
    element.scrollTop = element.scrollHeight
  })
  await page.waitForSelector(`.bubble:has-text("I look at page ${STEPS - 1}.")`)
  await page.screenshot({ path: `${SHOTS}conversation-long-end.png` })
  expect(await nodes(page)).toBeLessThan(2_500)
  expect(problems).toEqual([])
  await page.close()
})

it('the beginning is there before the rest has been read, and a jump waits for its step', async () => {
  const { page } = await open('/')
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(`**/api/runs/${LONG}/conversation`, async (route) => {
    await held
    await route.continue()
  })
  await page.goto(`${viewer.url}/run/${LONG}?view=conversation`)
  await page.waitForSelector('.bubble:has-text("I look at page 0.")')
  await page.keyboard.type(':2500')
  await page.keyboard.press('Enter')
  await expect.poll(() => topStep(page)).toContain('reading up to step 2500')
  release()
  await expect.poll(() => topStep(page)).toContain('step 2500,')
  await page.close()
})

it('a colon and a number go to that step, also to those of a sub-agent', async () => {
  const { page } = await open(`/run/${LONG}?view=conversation`)
  await expect.poll(() => topStep(page)).toContain(STEPS.toLocaleString('en'))
  for (const step of ['1700', '7', '3332']) {
    await page.keyboard.type(`:${step}`)
    await page.keyboard.press('Enter')
    const line = page.locator('.step-line', { has: page.locator(`.step-number:text-is("${step}")`) })
    await line.waitFor()
    await page.keyboard.press('Escape')
    if (step === '3332') continue
    const top = await page.locator('.conversation').evaluate((element) => element.getBoundingClientRect().top)
    await expect.poll(async () => Math.abs((await line.boundingBox())!.y - top)).toBeLessThan(24)
    await expect.poll(() => topStep(page)).toContain(`step ${step},`)
  }
  await page.goto(`${viewer.url}/run/${SAMPLE_TRACE}?view=conversation`)
  await page.waitForSelector('.step-line')
  await page.keyboard.type(':1.0')
  await page.keyboard.press('Enter')
  await expect.poll(() => topStep(page)).toBe('step 1.0, call 3 of 6')
  // The next one of that number.
  await page.keyboard.press('Enter')
  await expect.poll(() => topStep(page)).toBe('step 1.0, call 4 of 6')
  await page.keyboard.type('77')
  await page.keyboard.press('Enter')
  await expect.poll(() => topStep(page)).toMatch(/^no step/)
  await page.close()
})

it('what is read stays where it is while heights above it become known', async () => {
  const { page } = await open(`/run/${LONG}?view=conversation`)
  await expect.poll(() => topStep(page)).toContain(STEPS.toLocaleString('en'))
  await page.keyboard.type(':2000')
  await page.keyboard.press('Enter')
  await expect.poll(() => topStep(page)).toContain('step 2000,')
  await page.locator('.conversation').hover()
  const line = page.locator('.step-line', { has: page.locator('.step-number:text-is("2000")') })
  const yOf = async () => (await line.boundingBox())!.y
  for (let times = 0; times < 4; times++) {
    const before = await yOf()
    await page.mouse.wheel(0, -60)
    await expect.poll(yOf).toBeGreaterThan(before)
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
    expect(Math.abs((await yOf()) - before - 60)).toBeLessThan(3)
  }
  await page.close()
})

it('Markdown is drawn as elements; what it brings along neither runs nor is fetched', async () => {
  const { page, problems, asked } = await open(`/run/${WRITTEN}?view=conversation`)
  await page.waitForSelector('.md-table')
  expect(await page.locator('.md-table td').allInnerTexts()).toEqual(['Lisbon', '412.50'])
  expect(await page.locator('.markdown > ol > li').count()).toBe(2)
  expect(await page.locator('.markdown li li').innerText()).toBe('nested')
  expect(await page.locator('pre.code').innerText()).toBe('const a = 1 < 2')
  expect(await page.locator('.conversation').innerText()).toContain('<img src="https://example.com/y.png"')
  expect(await page.locator('.conversation').innerText()).toContain('https://example.com/elsewhere.png')
  // The pictures that are in the messages themselves, and only these.
  const drawn = await page
    .locator('img')
    .evaluateAll((all) => all.map((one) => (one as HTMLImageElement).src))
  expect(drawn).toEqual([`data:image/png;base64,${PNG}`, `data:image/png;base64,${PNG}`])
  await expect
    .poll(() =>
      page.locator('img').evaluateAll((all) => all.map((one) => (one as HTMLImageElement).naturalWidth)),
    )
    .toEqual([10, 10])
  expect(
    await page.locator('.markdown a').evaluateAll((all) => all.map((a) => a.getAttribute('href'))),
  ).toEqual(['https://example.com/'])
  const rtl = page.locator('.prose', { hasText: 'שלום' })
  expect(await rtl.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl')
  expect(await page.title()).toBe('writer: What is on this? · hookspan')
  expect(asked.filter((url) => url.includes('example.com'))).toEqual([])
  expect(await findFlaws(page)).toEqual([])
  await page.keyboard.press('m')
  await page.waitForSelector('.as-written:has-text("| Lisbon | 412.50 |")')
  expect(await page.locator('.md-table').count()).toBe(0)
  expect(problems).toEqual([])
  await page.close()
})

it('a call of a model opens on what is new, with the older messages folded and their size told', async () => {
  const { page, problems } = await open(`/run/${SAMPLE_TRACE}?view=conversation`)
  await page.locator('.step-line', { has: page.locator('.step-number:text-is("3")') }).click()
  const section = page.locator('.section', { hasText: 'What the model saw' })
  await section.waitFor()
  expect(await section.locator('.since').innerText()).toBe('2 messages are new since the call before')
  expect(await section.locator('.message h4').allInnerTexts()).toEqual(['assistant', 'tool'])
  const older = section.locator('.older')
  expect(await older.locator('summary').innerText()).toMatch(/^2 older messages\s*about \d+ tokens$/)
  await older.locator('summary').click()
  await older.getByText('system: You are the support agent').click()
  await section.locator('.message:has-text("Ask before you delete or pay.")').waitFor()
  expect(await findFlaws(page)).toEqual([])
  await page.screenshot({ path: `${SHOTS}seen.png` })
  // Back through the calls by the link.
  await section.locator('.since button').click()
  await page.waitForURL(`**/run/${SAMPLE_TRACE}?view=conversation&span=${id(16)}`)
  await page.getByText('3 messages of the call before are no longer there').waitFor()
  expect(problems).toEqual([])
  await page.close()
})

it('the growth of the context leads to the step', async () => {
  const { page } = await open(`/run/${SAMPLE_TRACE}?view=conversation`)
  const growth = page.locator('.growth svg')
  await growth.waitFor()
  expect(await growth.locator('g').count()).toBe(6)
  expect(await page.locator('.growth figcaption').innerText()).toContain('system')
  const box = (await growth.boundingBox())!
  await page.mouse.click(box.x + box.width * 0.4, box.y + 10)
  await expect.poll(() => topStep(page)).toBe('step 1.0, call 3 of 6')
  await page.close()
})

it('JSON of megabytes is formatted, and folds', async () => {
  const { page, problems } = await open(`/run/${LARGE}?span=${id(3)}`)
  const result = page.locator('.section', { hasText: 'Result' }).first()
  await result.locator('.json-fold:has-text("{ 1 }")').waitFor()
  expect(await nodes(page)).toBeLessThan(3_000)
  await result.locator('summary:has-text("rows: [ 50,000 ]")').click()
  await result.locator('summary:has-text("40,000 … 49,999")').click()
  await result.locator('summary:has-text("49,900 … 49,999")').click()
  await result.locator('summary:has-text("49999: { 2 }")').click()
  await result.getByText('row 49999', { exact: true }).waitFor()
  expect(await nodes(page)).toBeLessThan(6_000)
  expect(problems).toEqual([])
  await page.close()
})
