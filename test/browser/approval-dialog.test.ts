/** What a person sees of a question before they answer it. Issue: the dialog hid what it let run. */
import { HookDispatcher, type Operation } from 'hookspan'
import { requireHuman } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type Asking, startAsking } from '../viewer/asking.ts'
import { axe, findFlaws, launch, SHOTS, watch } from './support.ts'

let browser: Browser
let asking: Asking
let tracing: ReturnType<typeof startTracing>
let dispatcher: HookDispatcher
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())
beforeEach(async () => {
  asking = await startAsking()
  const { otlpEndpoint } = asking.viewer
  tracing = startTracing({
    serviceName: 'asker',
    endpoint: otlpEndpoint,
    captureContent: true,
    queue: { delayMs: 50 },
  })
  dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  dispatcher.use(asking.approvals)
  dispatcher.use({ name: 'human', gates: [requireHuman({ timeoutMs: 60_000 })] })
})
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
  await tracing.shutdown({ timeoutMs: 1_000 })
  await asking[Symbol.asyncDispose]()
})

/** An agent calls a tool that a person is asked about; gives what ran. */
async function ask(args: unknown, op: Operation = dispatcher.startOperation({ agentName: 'clerk' })) {
  let ran: unknown
  await op.step((step) =>
    step.toolCall({ apiName: 'pay', args, toolCallId: 'call-1' }, (given) => {
      ran = given
      return 'paid'
    }),
  )
  await op.complete()
  return ran
}

async function openDialog(
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<{ page: Page; problems: string[] }> {
  await asking.waiting()
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options })
  page.setDefaultTimeout(30_000)
  const problems = watch(page)
  await page.goto(asking.viewer.link)
  await page.waitForSelector('.top .ask')
  await page.keyboard.press('a')
  await page.locator('.request .exact').first().waitFor()
  return { page, problems }
}

const approve = (page: Page) => page.getByRole('button', { name: 'Approve', exact: true })
const args = (page: Page) => page.getByRole('region', { name: 'Arguments' })

it('shows every level, types, and what would hide; in whose name; what the user said; who asks', async () => {
  const hostile = {
    id: '4711',
    count: 4711,
    deep: { a: { b: { c: 'rm -rf' } } },
    to: 'pay\u200bpal\u202e',
    text: 'x"\n  "y": 1',
  }
  const op = dispatcher.startOperation({ agentName: 'support' })
  const request = { messages: [{ role: 'user', content: 'Please refund my order.' }] }
  const done = op.step(async (step) => {
    await step.llmCall({ model: 'gpt-4o', provider: 'openai', request }, async () => ({
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'One moment.' } }],
    }))
    await step.callAgent({ agentName: 'cashier', instruction: 'Pay back order 4711.' }, (parent) =>
      ask(hostile, dispatcher.startOperation({ agentName: 'cashier', parent })),
    )
  })
  const { page, problems } = await openDialog()
  const shown = (await args(page).locator('.exact-line').allTextContents()).map((line) => line.trim())
  for (const line of [
    '"id": "4711",',
    '"count": 4711,',
    '"c": "rm -rf"',
    '"to": "pay\\u200bpal\\u202e",',
    '"text": "x\\"\\n',
    '│   \\"y\\": 1"',
  ])
    expect(shown).toContain(line)
  const card = page.locator('.request')
  await expect.poll(() => card.textContent()).toContain('Please refund my order.')
  const text = await card.textContent()
  for (const part of ['support › cashier asked', 'Pay back order 4711.', 'You answer as ines.'])
    expect(text).toContain(part)
  await page.screenshot({ path: `${SHOTS}approval-dialog-whole.png` })
  expect(await findFlaws(page)).toEqual([])
  expect(problems).toEqual([])
  await page.waitForSelector('.request button:not([aria-disabled="true"]).primary')
  await approve(page).click()
  await done
  await op.complete()
})

it('lets nobody approve what they have not seen to its end, and then with one key from there', async () => {
  const long = { lines: Array.from({ length: 300 }, (_, at) => `line ${at}`), last: 'delete everything' }
  const ran = ask(long)
  const { page } = await openDialog()
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Arguments')
  await page.keyboard.press('Tab')
  const focused = () => page.evaluate(() => document.activeElement?.textContent)
  expect(await focused()).toBe('Approve')
  await page.waitForTimeout(900)
  await page.keyboard.press('Enter')
  // It leads to what is to be read, and that is all.
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Arguments')
  expect(await approve(page).getAttribute('aria-disabled')).toBe('true')
  expect(await page.locator('.request').textContent()).toContain('Read the arguments to their end first.')
  await page.screenshot({ path: `${SHOTS}approval-dialog-long.png` })
  await page.keyboard.press('End')
  await expect.poll(() => approve(page).getAttribute('aria-disabled')).toBe('false')
  expect((await asking.approvals.list({ status: 'pending' })).length).toBe(1)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  expect(await ran).toEqual(long)
})

it('takes no press that was meant for something else', async () => {
  const ran = ask({ id: 1 })
  const { page } = await openDialog()
  await page.keyboard.press('Escape')
  await page.locator('.request').waitFor({ state: 'detached' })
  // A double click on what opens the dialog, with Approve where the second one lands.
  await page.evaluate(() => {
    document.querySelector<HTMLElement>('.top .ask')!.click()
  })
  await page.locator('.request .primary').dispatchEvent('click')
  await page.waitForSelector('.request .primary[aria-disabled="false"]')
  expect((await asking.approvals.list({ status: 'pending' })).length).toBe(1)
  // Enter that is still held from before.
  await approve(page).focus()
  const isTaken = await approve(page).evaluate((button) =>
    button.dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Enter', repeat: true, cancelable: true, bubbles: true }),
    ),
  )
  expect(isTaken).toBe(false)
  await page.keyboard.press('Enter')
  expect(await ran).toEqual({ id: 1 })
})

it('shows what an edit changes, and refuses one that would not arrive as it is written', async () => {
  const ran = ask({ id: 4711, to: 'Mei\u200b' })
  const { page } = await openDialog({ colorScheme: 'dark' })
  await page.getByRole('button', { name: 'Edit arguments' }).click()
  const change = page.getByRole('region', { name: 'What you change' })
  expect(await change.textContent()).toContain('Nothing')
  const field = page.getByLabel('Arguments, as JSON')
  expect(await field.inputValue()).toContain('"to": "Mei\\u200b"')
  for (const [text, problem] of [
    ['{"id": 1, "id": 2}', 'twice'],
    ['{"id": 12345678901234567890}', '12345678901234567890 would arrive as 12345678901234567000'],
    ['{"id": 1e999}', '1e999 would arrive as Infinity'],
  ]) {
    await field.fill(text!)
    expect(await change.count()).toBe(0)
    await page.getByRole('button', { name: 'Approve edited' }).click()
    expect(await page.locator('.request [role=alert]').textContent()).toContain(problem)
  }
  await field.fill('{"id": "4711", "to": "Mei\\u200b"}')
  const lines = await change.locator('.exact-line').allTextContents()
  expect(lines.filter((line) => /^[+−]/.test(line))).toEqual(['−   "id": 4711,', '+   "id": "4711",'])
  await page.screenshot({ path: `${SHOTS}approval-dialog-edit.png` })
  await page.getByRole('button', { name: 'Approve edited' }).click()
  expect(await ran).toEqual({ id: '4711', to: 'Mei\u200b' })
})

it('keeps an answer that was begun through Escape, and tells several questions apart', async () => {
  const first = ask({ id: 4711 })
  const second = ask({ id: 4712 }, dispatcher.startOperation({ agentName: 'other clerk' }))
  await expect.poll(async () => (await asking.approvals.list({ status: 'pending' })).length).toBe(2)
  const { page } = await openDialog()
  const cards = page.locator('.request')
  await expect.poll(() => cards.count()).toBe(2)
  expect(await axe(page)).toEqual([])
  const isFirst = (await cards.first().innerText()).includes('4711')
  const card = isFirst ? cards.first() : cards.last()
  await card.locator('[aria-disabled="false"]').first().waitFor()
  await card.getByRole('button', { name: 'Edit arguments' }).click()
  await card.getByLabel('Arguments, as JSON').fill('{"id": 90}')
  await card.getByLabel('Reason, told to the model when rejected').fill('half of it')
  await page.keyboard.press('Escape')
  await cards.first().waitFor({ state: 'detached' })
  await page.keyboard.press('a')
  const again = page.locator('.request', { has: page.locator('textarea') })
  expect(await again.getByLabel('Arguments, as JSON').inputValue()).toBe('{"id": 90}')
  expect(await again.getByLabel('Reason, told to the model when rejected').inputValue()).toBe('half of it')
  await again.locator('.primary[aria-disabled="false"]').waitFor()
  await again.getByRole('button', { name: 'Approve edited' }).click()
  expect(await first).toEqual({ id: 90 })
  await page.locator('.request .answers').getByRole('button', { name: 'Approve', exact: true }).click()
  expect(await second).toEqual({ id: 4712 })
})
