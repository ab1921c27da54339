import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type Asking, startAsking } from '../viewer/asking.ts'
import { axe, findFlaws, launch, SHOTS, watch } from './support.ts'

let browser: Browser
let asking: Asking
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())
beforeEach(async () => {
  asking = await startAsking()
})
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
  await asking[Symbol.asyncDispose]()
})

async function open(link: string, options: Parameters<Browser['newPage']>[0] = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options })
  page.setDefaultTimeout(30_000)
  const problems = watch(page)
  await page.goto(link)
  await page.waitForSelector('main:not([aria-busy])')
  return { page, problems }
}

async function looksWell(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${SHOTS}${name}.png` })
  expect(await findFlaws(page), name).toEqual([])
  expect(await axe(page), name).toEqual([])
}

it('a person approves, edits and rejects from the page, and the waiting run goes on', async () => {
  const { page, problems } = await open(asking.viewer.link)
  const agent = asking.ask('approved', 'edited', 'rejected')
  // By itself: in the bar and in the row of the run.
  await page.waitForSelector('.top .ask')
  expect(await page.locator('.top .asked').textContent()).toBe('1 waiting for you')
  await page.waitForSelector('tr.run .ask')
  // Also where another tab is in front.
  expect(await page.title()).toBe('(1) hookspan')
  await looksWell(page, 'approvals-runs')
  await page.click('tr.run a')
  await page.waitForSelector('.waiting .ask')
  expect(await page.locator('.waiting li').count()).toBe(1)
  await looksWell(page, 'approvals-run')

  // Without a mouse.
  await page.keyboard.press('a')
  const card = page.locator('.request')
  await card.waitFor()
  const shown = await card.textContent()
  for (const part of [
    'delete_order',
    'clerk',
    '4711',
    'invoice',
    'Only orders that were never shipped.',
    'refused in',
  ])
    expect(shown).toContain(part)
  await looksWell(page, 'approvals-dialog')
  await page.waitForSelector('.request .primary[aria-disabled="false"]')
  await page.getByRole('button', { name: 'Approve', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => document.activeElement?.textContent === 'Approved. The run goes on.')
  await page.keyboard.press('Escape')
  await expect
    .poll(() => agent.printed())
    .toContain('approved: completed: deleted {"id":4711,"keep":"invoice"}')
  await page.waitForFunction(() => document.querySelector('.run-header .status')?.textContent === 'Done')
  expect(await page.locator('.waiting').count()).toBe(0)
  await expect.poll(() => page.title()).toBe('(1) clerk · hookspan')

  await page.click('.top .ask')
  await page.waitForSelector('.request .primary[aria-disabled="false"]')
  await page.getByRole('button', { name: 'Edit arguments' }).press('Enter')
  // The button that was pressed is gone: one goes on where one types, or reads.
  await page.waitForFunction(() => document.activeElement?.matches('textarea'))
  await page.getByRole('button', { name: 'Keep as asked' }).press('Enter')
  await page.waitForFunction(() => document.activeElement?.matches('.exact'))
  await page.getByRole('button', { name: 'Edit arguments' }).click()
  await page.getByLabel('Arguments, as JSON').fill('{"id": 1')
  await page.getByRole('button', { name: 'Approve edited' }).click()
  expect(await page.locator('.request [role=alert]').textContent()).toContain('are not JSON')
  await page.getByLabel('Arguments, as JSON').fill('{"id": 1}')
  await looksWell(page, 'approvals-edit')
  await page.getByRole('button', { name: 'Approve edited' }).click()
  await page.locator('.outcome.mine').waitFor()
  await expect.poll(() => agent.printed()).toContain('edited: completed: deleted {"id":1}')
  // The next one came while the dialog was open: it waits its turn, nothing is swapped.
  await page.getByRole('button', { name: 'Show 1 more request' }).click()
  await page.getByLabel(/^Reason/).fill('it was shipped')
  await page.getByRole('button', { name: 'Reject' }).click()
  await expect.poll(() => page.locator('.outcome.mine').count()).toBe(2)
  await agent.ended
  expect(agent.printed()).toMatch(/rejected: .*it was shipped/)
  await expect.poll(() => page.title()).toBe('clerk · hookspan')
  expect(problems).toEqual([])
  await page.close()
})

it('says of a request that somebody else answered it meanwhile', async () => {
  const { page } = await open(asking.viewer.link, {
    colorScheme: 'dark',
    viewport: { width: 390, height: 844 },
  })
  const agent = asking.ask('raced')
  await page.waitForSelector('.top .ask')
  await looksWell(page, 'approvals-runs-phone')
  await page.click('.top .ask')
  await page.locator('.request').waitFor()
  await looksWell(page, 'approvals-dialog-phone')
  const { id, argsDigest } = await asking.waiting()
  await asking.approvals.respond(id, { decision: 'approve', approver: 'otto', argsDigest })
  await page.waitForFunction(
    () => document.querySelector('.outcome')?.textContent === 'Approved already by otto.',
  )
  expect(await page.locator('.request button').count()).toBe(0)
  await agent.ended
  await page.close()
})

it('without the token it tells that somebody waits, and what to do', async () => {
  const { page } = await open(asking.viewer.url)
  const agent = asking.ask('unseen')
  await page.waitForSelector('.top .ask')
  await page.keyboard.press('a')
  expect(await page.locator('dialog').textContent()).toContain('Open the link that `hookspan view` printed')
  expect(await page.locator('dialog').textContent()).not.toContain('4711')
  await looksWell(page, 'approvals-no-token')
  const { id, argsDigest } = await asking.waiting()
  await asking.approvals.respond(id, { decision: 'reject', approver: 'otto', argsDigest })
  await agent.ended
  await page.close()
})
