/** Marking by key, searching by marks, and the ways out of the viewer, as a person uses them. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { callTool, scriptedModel } from 'hookspan/mock'
import { startTracing } from 'hookspan/tracing'
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { post } from '../viewer/support.ts'
import { findFlaws, launch, SHOTS, watch } from './support.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const OTHER = 'b'.repeat(32)
const THIRD = 'c'.repeat(32)
let browser: Browser
let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, sampleRun())
  await post(viewer, sampleRun({ traceId: OTHER, atMs: -60_000 }))
  await post(viewer, sampleRun({ traceId: THIRD, atMs: -90_000 }))
})
afterAll(async () => {
  await browser?.close()
  await viewer?.close()
})

async function open(
  path: string,
  isAllowed = true,
  { url, token } = viewer,
): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  const problems = watch(page)
  await page.goto(`${url}${path}${isAllowed ? `#token=${token}` : ''}`)
  return { page, problems }
}

/** A vitest that is started in a test is no worker of that one. */
function outsideOfVitest(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^VITEST|^NODE_ENV$|^NODE_OPTIONS$/.test(name))
  return { ...Object.fromEntries(kept), CI: 'true', NO_COLOR: '1' }
}

const marksOf = (traceId: string) => {
  const { mark, note, labels } = viewer.store.run(traceId)!.summary
  return { mark, note, labels }
}

it('a run is marked by one key, in the list and where it is read; again takes it back', async () => {
  const { page, problems } = await open('/')
  const rows = page.locator('tr.run')
  await expect.poll(() => rows.count()).toBe(3)
  await page.keyboard.press('j')
  await page.keyboard.press('+')
  await expect.poll(() => marksOf(SAMPLE_TRACE).mark).toBe('good')
  await rows.first().getByText('Good', { exact: true }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('-')
  await expect.poll(() => marksOf(OTHER).mark).toBe('bad')

  await page.keyboard.press('w')
  const dialog = page.getByRole('dialog', { name: 'Marks of this run' })
  // One writes at once, and no key of the page is pressed by what is written.
  await dialog.waitFor()
  await page.keyboard.type('cancels the wrong booking - twice')
  await page.keyboard.press('Tab')
  await page.keyboard.type('regression, v2')
  await page.screenshot({ path: `${SHOTS}marks-dialog.png` })
  await page.keyboard.press('Enter')
  await expect
    .poll(() => marksOf(OTHER))
    .toEqual({ mark: 'bad', note: 'cancels the wrong booking - twice', labels: ['regression', 'v2'] })
  await rows.nth(1).getByText('regression', { exact: true }).waitFor()
  expect(await findFlaws(page)).toEqual([])
  await page.screenshot({ path: `${SHOTS}marks-list.png` })

  await page
    .getByRole('combobox', { name: /search/i })
    .or(page.locator('.toolbar input').first())
    .first()
    .fill('label:regression')
  await expect.poll(() => rows.count()).toBe(1)
  // From the search to the first of what was found, and into it.
  await page.keyboard.press('Enter')
  await page.locator('tr.run.selected').waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(new RegExp(`/run/${OTHER}`))

  await page.goto(`${viewer.url}/run/${SAMPLE_TRACE}`)
  const good = page.getByRole('button', { name: 'Good', exact: true })
  await expect.poll(() => good.getAttribute('aria-pressed')).toBe('true')
  await page.keyboard.press('+')
  await expect.poll(() => marksOf(SAMPLE_TRACE).mark).toBe('')
  await expect.poll(() => good.getAttribute('aria-pressed')).toBe('false')
  expect(await findFlaws(page)).toEqual([])
  await page.screenshot({ path: `${SHOTS}marks-run.png` })
  expect(problems).toEqual([])
  await page.context().close()
})

it('without the token nothing is marked, and it says why', async () => {
  const { page } = await open('/', false)
  await expect.poll(() => page.locator('tr.run').count()).toBe(3)
  await page.keyboard.press('j')
  await page.keyboard.press('-')
  await page.getByText('Marking needs the link').waitFor()
  expect(marksOf(SAMPLE_TRACE).mark).toBe('')
  await page.context().close()
})

it('what is found, or picked, goes out as a file', async () => {
  const { page, problems } = await open('/')
  await expect.poll(() => page.locator('tr.run').count()).toBe(3)
  const file = async (link: string) => {
    await page.locator('summary', { hasText: 'Export' }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: link }).click(),
    ])
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') }
  }
  const all = await file('Data set (JSONL)')
  expect(all.name).toBe('runs-3.jsonl')
  expect(
    all.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id),
  ).toEqual([SAMPLE_TRACE, OTHER, THIRD])
  for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key)
  await page.getByText('Two runs picked').waitFor()
  const some = await file('OTLP (JSON)')
  expect(some.name).toBe('runs-2.otlp.json')
  const ids = new Set([...some.text.matchAll(/"traceId":"(\w+)"/g)].map(([, traceId]) => traceId))
  expect([...ids].sort()).toEqual([SAMPLE_TRACE, OTHER].sort())
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.getByText('3 runs picked').waitFor()
  expect(problems).toEqual([])
  await page.context().close()
})

it('a run is copied for a model, and as the command that makes a test of it', async () => {
  const { page, problems } = await open(`/run/${SAMPLE_TRACE}`)
  await page.getByRole('button', { name: 'For a model' }).click()
  const copied = () => page.evaluate(() => navigator.clipboard.readText())
  await expect.poll(copied).toContain('# Run of support: with errors')
  expect(await copied()).toContain('Please cancel my flight to Lisbon')
  await page.getByRole('button', { name: 'As test' }).click()
  await expect
    .poll(copied)
    .toBe(`npx hookspan export ${SAMPLE_TRACE} --url ${viewer.url} --format vitest --out recorded.test.ts`)
  expect(problems).toEqual([])
  await page.context().close()
})

it('the command that is copied, and the file that is downloaded, are tests that pass at once', async () => {
  const own = await startViewer({ db: ':memory:', port: 0 })
  onTestFinished(() => own.close())
  const dispatcher = new HookDispatcher()
  const tracing = startTracing({ endpoint: own.otlpEndpoint, captureContent: true })
  dispatcher.use(tracing)
  using client = scriptedModel([callTool('find_order', { id: '7' }), 'It was paid twice.'])
  const agent = {
    name: 'clerk',
    model: 'gpt-4o',
    tools: [{ name: 'find_order', execute: () => ({ id: '7', paid: 400 }) }],
  }
  await execAgent({ agent, prompt: 'Order 7 was charged twice', dispatcher, client })
  await tracing.shutdown()
  const [run] = own.store.listRuns('', { limit: 1, offset: 0 }).runs
  const { page, problems } = await open(`/run/${run!.traceId}`, true, own)
  await page.getByRole('button', { name: 'As test' }).click()
  const copied = () => page.evaluate(() => navigator.clipboard.readText())
  await expect.poll(copied).toContain('npx hookspan export')
  const project = mkdtempSync(join(tmpdir(), 'hookspan-as-test-'))
  onTestFinished(() => rmSync(project, { recursive: true }))
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(ROOT, join(project, 'node_modules', 'hookspan'))
  symlinkSync(join(ROOT, 'node_modules', 'vitest'), join(project, 'node_modules', 'vitest'))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  const [npx, name, ...words] = (await copied()).split(' ')
  expect([npx, name]).toEqual(['npx', 'hookspan'])
  const inProject = (...args: string[]) =>
    promisify(execFile)(process.execPath, args, { cwd: project, env: outsideOfVitest() })
  await inProject(join(ROOT, 'dist/cli/bin.js'), ...words)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Test file' }).click(),
  ])
  expect(download.suggestedFilename()).toBe(`run-${run!.traceId.slice(0, 8)}.test.ts`)
  await download.saveAs(join(project, 'downloaded.test.ts'))
  const { stdout } = await inProject(join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--root', project)
  expect(stdout).toMatch(/recorded\.test\.ts/)
  expect(stdout).toMatch(/downloaded\.test\.ts/)
  expect(stdout).toMatch(/Tests +2 passed/)
  expect(problems).toEqual([])
  await page.context().close()
})

it('a run that no test can be made of says why, instead of a file', async () => {
  const own = await startViewer({ db: ':memory:', port: 0 })
  onTestFinished(() => own.close())
  const span = {
    traceId: THIRD,
    spanId: '1'.repeat(16),
    name: 'no model',
    startTimeUnixNano: '1000000000',
    endTimeUnixNano: '2000000000',
  }
  await post(own, { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })
  const { page } = await open(`/run/${THIRD}`, true, own)
  await page.getByRole('link', { name: 'Test file' }).click()
  await page.getByText('has no model call: there is nothing to make a test of').waitFor()
  await page.context().close()
})
