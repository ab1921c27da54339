/** Each command of the pages, run as it stands, in one project, in the order in which the pages have them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installLines } from '../support/readme.ts'
import { BLOCKS, kindOf, ROOT } from './blocks.ts'
import { inProgram } from './programs.ts'
import { startProject } from './project.ts'

let project: Awaited<ReturnType<typeof startProject>>
beforeAll(async () => {
  project = await startProject()
})
afterAll(() => project.stop())

interface Held {
  /** @default 0 */
  readonly code?: number
  /** Standard output and error. */
  readonly says: RegExp
  /** It asks the Jaeger. */
  readonly jaeger?: true
  /** That one does not run. */
  readonly alone?: true
  /** It ends by Ctrl-C, which comes once it has said this. */
  readonly serves?: true
  /** Runs that it makes are kept elsewhere, so that they are not the latest. */
  readonly apart?: true
  readonly before?: () => unknown
  readonly after?: () => void
}

const file = (name: string) => readFileSync(join(project.folder, name), 'utf8')
const json = (name: string) => JSON.parse(file(name))

const VIEW: Held = { says: /hookspan viewer +http[\s\S]*send traces to[\s\S]*kept in/, serves: true }

/** A run that was begun, and whose process died with its tool at work. */
const unfinishedRun = () => project.run('rm -f *.receipt; CUT=1 node start.ts')

/** The block of configuration above it on its page. */
function configOf(page: string) {
  const block = BLOCKS.find(
    ({ at, code }) => at.startsWith(page) && code.startsWith('# hookspan.config.yaml'),
  )
  writeFileSync(join(project.folder, 'hookspan.config.yaml'), block?.code ?? '')
}

const HELD: Readonly<Record<string, Held>> = {
  'npx hookspan demo': { says: /16 of 16 hook types fired/ },
  'npx hookspan view': VIEW,
  // Docker is not there: the page says what happens then. With it: test/cli/jaeger.test.ts.
  'npx hookspan jaeger': { alone: true, code: 1, says: /jaegertracing\/jaeger:[\s\S]*4318/ },
  'npx hookspan runs status:failed since:2h --json': { says: /"total":/ },
  'npx hookspan runs status:failed since:2h': { says: /runs?/ },
  'npx hookspan show latest': { says: /execute_tool|cancel_booking/ },
  'npx hookspan show latest -c': { says: /Please cancel my flight to Lisbon/ },
  'npx hookspan show latest -c --json': { says: /Please cancel my flight to Lisbon/ },
  'npx hookspan diff latest 5c1f0c1c': { says: /same|differs|diverge|no difference/i },
  // Nobody is there to be asked: nothing is written.
  'npx hookspan init': {
    code: 1,
    says: /observeOpenAI/,
    after: () => expect(file('agent.js')).not.toContain('hookspan.setup'),
  },
  'npx hookspan run -- node agent.js': { says: /Order 7 is on its way\./, apart: true },
  'npx hookspan replay export.json --content': { says: /1 (run|conversation)/ },
  'npx hookspan mocks from-trace 0af7651916cd43dd8448eb211c80319c --out recordings/refund.json --trajectory refund.json':
    {
      jaeger: true,
      before: () => project.run('mkdir -p recordings'),
      says: /calls of \d+ tools written to/,
      after: () => {
        expect(json('recordings/refund.json').calls.length).toBeGreaterThan(0)
        expect(json('refund.json')).toBeTypeOf('object')
      },
    },
  'npx hookspan doctor': { code: 1, says: /npx hookspan view/ },
  'npx hookspan hooks check': {
    before: () => configOf('docs/production.md'),
    says: /refunds/,
  },
  'npx hookspan hooks test events.jsonl': { says: /run_shell -> deny/ },
  'npx hookspan approvals list --db approvals.db': { says: /apr_1[\s\S]*delete_order/ },
  'npx hookspan approvals audit --help': { says: /Usage: hookspan approvals audit/ },
  'npx hookspan approvals verify --help': { says: /Usage: hookspan approvals verify/ },
  'npx hookspan runs --unfinished': { before: unfinishedRun, says: /Every run has ended/ },
  'npx hookspan runs --unfinished --checkpoints checkpoints.db --json': { says: /refund-7/ },
  'npx hookspan resume refund-7 --config runs.config.ts': { says: /It is refunded\./ },
  'npx hookspan resume refund-7 --config runs.config.ts --discard': {
    before: unfinishedRun,
    says: /refund-7/,
  },
  'npx hookspan view --approvals approvals.db': {
    says: /approvals from +\S*approvals\.db/,
    serves: true,
  },
  'npx hookspan view --approvals approvals.db --audit audit.jsonl --as ines': {
    says: /answered as ines/,
    serves: true,
  },
  'npx hookspan export latest --format vitest --out refund.test.ts --agent ./src/agent.ts#support': {
    says: /have that gate in the agent/,
    after: () => expect(file('refund.test.ts')).toContain('from "./src/agent.ts"'),
  },
  'npx hookspan export mark:good --format jsonl --out good.jsonl': {
    says: /^$/,
    after: () => expect(json('good.jsonl').id).toBe('0af7651916cd43dd8448eb211c80319c'),
  },
  'npx hookspan export 5c1f0c1c --format markdown --max-chars 20000': { says: /Please cancel my flight/ },
  'npx hookspan view --from jaeger=http://jaeger:16686': {
    jaeger: true,
    says: /hookspan viewer +http/,
    serves: true,
  },
  'npx hookspan runs --from jaeger=http://jaeger:16686 since:2h status:failed': {
    jaeger: true,
    says: /runs?/,
  },
  'npx hookspan show --from jaeger=http://jaeger:16686 3f2a90c1d4e5b6a7988776655443322a': {
    jaeger: true,
    says: /cancel_booking/,
  },
  'npx hookspan diff --from jaeger=http://jaeger:16686 3f2a90c1 77b1c0de': {
    jaeger: true,
    says: /same|differs|diverge|no difference/i,
  },
  'npx hookspan tail --from jaeger=http://jaeger:16686 service:support-bot': {
    jaeger: true,
    says: /\S/,
    serves: true,
  },
  'npx hookspan runs pull 3f2a90c1d4e5b6a7988776655443322a --from jaeger=http://jaeger:16686': {
    jaeger: true,
    apart: true,
    says: /spans/,
  },
  'npx hookspan replay-call 00f067aa0ba902b7 --run latest --model gpt-4o-mini': {
    says: /replayed: gpt-4o-mini[\s\S]*Let me look\./,
  },
}

const lines = BLOCKS.filter((block) => kindOf(block) === 'command' && !inProgram(block)).flatMap(
  ({ at, code }) =>
    code
      .replaceAll(/\\\n\s*/g, ' ')
      .split('\n')
      .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
      .filter((line) => line !== '')
      .map((line) => ({ at, line })),
)
/** Each once, where a reader meets it first. */
const commands = lines.filter(
  ({ line }, index) => !line.startsWith('npm ') && lines.findIndex((one) => one.line === line) === index,
)

describe('commands', () => {
  it.for(commands)('$at: $line', async ({ line }, { skip }) => {
    const held = HELD[line]
    if (held === undefined) throw new Error(`Nobody says what ${line} is to print. Add it to HELD.`)
    if (held.jaeger && !project.hasJaeger) skip('there is no Jaeger here: npm run jaeger:install')
    await held.before?.()
    const { code, said } = await project.run(line, held)
    expect(said).toMatch(held.says)
    // What one interrupts ends by the signal, or tidies up and ends with 0.
    if (!held.serves) expect(code, said).toBe(held.code ?? 0)
    held.after?.()
  })

  it('are all on a page', () => {
    expect(commands.map(({ line }) => line)).toEqual(expect.arrayContaining(Object.keys(HELD)))
  })

  it('install what test/package/paste.test.ts installs from the tarball', () => {
    const asked = lines.map(({ line }) => line).filter((line) => line.startsWith('npm '))
    expect(asked.length).toBeGreaterThan(5)
    expect(installLines(ROOT)).toEqual(expect.arrayContaining(asked))
  })
})

const SERVERS = BLOCKS.filter(({ language, code }) => language === 'json' && code.includes('"mcpServers"'))

it.for(SERVERS)('the server of $at is started as it says, and gives the runs', async ({ code }, { skip }) => {
  const { command, args } = JSON.parse(code).mcpServers.hookspan
  if (!project.hasJaeger && args.includes('--from')) skip('there is no Jaeger here: npm run jaeger:install')
  const client = new Client({ name: 'agent', version: '1.0.0' })
  await client.connect(new StdioClientTransport({ command, args, cwd: project.folder, env: project.env }))
  const { content } = await client.callTool({ name: 'list_runs', arguments: {} })
  expect(JSON.stringify(content)).toContain('0af76519')
  await client.close()
})
