/** Several requests below each other, while others answer too: what is pressed is what was aimed at, and nothing typed is lost. */
import { HookDispatcher } from 'hookspan'
import { requireHuman } from 'hookspan/policies'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type Asking, startAsking } from '../viewer/asking.ts'
import { id, otlp, post } from '../viewer/support.ts'
import { axe, findFlaws, launch } from './support.ts'

let browser: Browser
let asking: Asking
let dispatcher: HookDispatcher
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())
beforeEach(async () => {
  asking = await startAsking()
  dispatcher = new HookDispatcher()
  dispatcher.use(asking.approvals)
  dispatcher.use({ name: 'human', gates: [requireHuman({ timeoutMs: 60_000 })] })
})
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
  await asking[Symbol.asyncDispose]()
})

/** Asks about a call; gives what became of it. */
async function ask(apiName: string, args: unknown = { of: apiName }): Promise<Promise<unknown>[]> {
  let ran: unknown = 'nothing'
  const op = dispatcher.startOperation({ agentName: 'clerk' })
  const ended = op
    .step((step) =>
      step.toolCall({ apiName, args }, (given) => {
        ran = given
      }),
    )
    .catch(() => {})
    .then(() => ran)
  await expect
    .poll(async () => (await pending()).some(({ request }) => request.apiName === apiName))
    .toBe(true)
  return [ended]
}

const pending = () => asking.approvals.list({ status: 'pending' })

async function somebodyElse(apiName: string, decision: 'approve' | 'reject'): Promise<void> {
  const { request } = (await pending()).find((record) => record.request.apiName === apiName)!
  const { id, argsDigest } = request
  await asking.approvals.respond(id, { decision, approver: 'otto', argsDigest })
}

async function openDialog(size = { width: 1280, height: 1000 }): Promise<Page> {
  const page = await browser.newPage({ viewport: size })
  page.setDefaultTimeout(30_000)
  await page.goto(asking.viewer.link)
  await page.waitForSelector('.top .ask')
  await page.keyboard.press('a')
  await page.locator('.request .answers').first().waitFor()
  return page
}

const cardOf = (page: Page, apiName: string) => page.getByRole('article', { name: `Request for ${apiName}` })
const topOf = async (page: Page, apiName: string) => (await cardOf(page, apiName).boundingBox())!.y

it('what others answered, or oneself, stays as tall as it was, so that the next request does not slide up', async () => {
  for (const name of ['first', 'second', 'third']) await ask(name)
  const page = await openDialog()
  await page.waitForSelector('.request .primary[aria-disabled="false"]')
  const before = [await topOf(page, 'second'), await topOf(page, 'third')]
  await somebodyElse('first', 'reject')
  await cardOf(page, 'first').getByText('Rejected already by otto.').waitFor()
  expect(await topOf(page, 'second')).toBe(before[0])
  // A double click on Reject rejects once.
  await cardOf(page, 'second').getByRole('button', { name: 'Reject' }).dblclick()
  await cardOf(page, 'second').getByText('Rejected. The run goes on.').waitFor()
  expect(await topOf(page, 'third')).toBe(before[1])
  expect((await pending()).map(({ request }) => request.apiName)).toEqual(['third'])
})

it('a button that was just moved takes no click until it has stood still, but the key of who is on it', async () => {
  const [ran] = await ask('moved')
  const page = await openDialog()
  const button = cardOf(page, 'moved').getByRole('button', { name: 'Approve', exact: true })
  await page.waitForSelector('.request .primary[aria-disabled="false"]')
  const pressed = await button.evaluate(async (element) => {
    // As what led to the request does, when it comes late.
    const late = document.createElement('p')
    late.style.height = '200px'
    element.closest('.request')!.prepend(late)
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    const was = element.getAttribute('aria-disabled')
    element.dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 1 }))
    return was
  })
  expect(pressed).toBe('true')
  expect((await pending()).length).toBe(1)
  await button.focus()
  await page.keyboard.press('Enter')
  expect(await ran).toEqual({ of: 'moved' })
})

it('what was typed can still be read when somebody else was first', async () => {
  await ask('raced', { id: 1 })
  const page = await openDialog({ width: 360, height: 740 })
  expect(await findFlaws(page)).toEqual([])
  const card = cardOf(page, 'raced')
  await card.getByRole('button', { name: 'Edit arguments' }).click()
  await card.getByLabel('Arguments, as JSON').fill('{"id": 90, "note": "an hour of work"}')
  await card.getByLabel('Reason, told to the model when rejected').fill('too much')
  await somebodyElse('raced', 'approve')
  await card.getByText('Approved already by otto. What you wrote was not sent: too much.').waitFor()
  const field = card.getByLabel('Arguments, as JSON')
  expect(await field.inputValue()).toBe('{"id": 90, "note": "an hour of work"}')
  expect(await field.getAttribute('readonly')).not.toBeNull()
  expect(await axe(page)).toEqual([])
})

it('who pressed a button that somebody else was faster at is left at what came of it', async () => {
  await ask('raced')
  const page = await openDialog()
  const card = cardOf(page, 'raced')
  const reject = card.getByRole('button', { name: 'Reject' })
  await expect.poll(() => reject.getAttribute('aria-disabled')).toBe('false')
  await reject.focus()
  await page.route('**/respond', async (route) => {
    await somebodyElse('raced', 'approve')
    await route.continue()
  })
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => document.activeElement?.textContent === 'Approved already by otto.')
  expect(await card.getByRole('alert').count()).toBe(0)
})

it('an edited number arrives as it was written, or is refused; one that was asked is none to refuse', async () => {
  const [ran] = await ask('paid', { amount: 1.5, big: 12345678901234567000, small: 1e-7, huge: 1e21 })
  const page = await openDialog()
  const card = cardOf(page, 'paid')
  await card.getByRole('button', { name: 'Edit arguments' }).click()
  const field = card.getByLabel('Arguments, as JSON')
  const asked = await field.inputValue()
  for (const [written, arrives] of [
    ['0.12345678901234567890', '0.12345678901234568'],
    ['1e-400', '0'],
    ['-0', '0'],
    ['12345678901234567891', '12345678901234567000'],
    ['12345678901234567891.0', '12345678901234567000'],
    ['1e400', 'Infinity'],
  ]) {
    await field.fill(asked.replace('1.5', written!))
    await card.getByRole('button', { name: 'Approve edited' }).click()
    expect(await card.getByRole('alert').textContent()).toContain(`${written} would arrive as ${arrives}`)
  }
  await field.fill(asked.replace('1.5', '2.50E0'))
  await card.getByRole('button', { name: 'Approve edited' }).click()
  expect(await ran).toEqual({ amount: 2.5, big: 12345678901234567000, small: 1e-7, huge: 1e21 })
})

it('the link to the run leads there, and what was typed is still there', async () => {
  await ask('asked')
  const { traceId } = await asking.waiting()
  await post(asking.viewer, otlp([{ traceId, spanId: id(1), name: 'chat m', start: 0, end: 1 }]))
  const page = await openDialog()
  const card = cardOf(page, 'asked')
  await card.getByLabel('Reason, told to the model when rejected').fill('not now')
  await card.getByRole('link', { name: 'Run' }).click()
  await page.waitForSelector('.run-header')
  expect(await page.locator('dialog').count()).toBe(0)
  await page.keyboard.press('a')
  expect(await card.getByLabel('Reason, told to the model when rejected').inputValue()).toBe('not now')
  await page.goBack()
  await card.waitFor({ state: 'detached' })
})
