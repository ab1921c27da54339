import type { AdapterName } from '../known-sdks.ts'
import { WAYS } from './ways.ts'

export const CONFIG_FILE = 'hookspan.config.yaml'
/** How the module is called that has the dispatcher, whatever its extension. */
export const SETUP = /(^|\/)hookspan\.setup\.[cm]?[jt]s$/

export const CONFIG_TEXT = `# Guards of this project: docs/policies.md. \`npx hookspan hooks check\` proves that each can start.
gates:
  # Tools of these names are refused, and the model is told so.
  - { id: no-deletions, type: toolPolicy, deny: ['delete_*', 'drop_*'] }
`

export interface SetupOptions {
  readonly serviceName: string
  readonly syntax: 'import' | 'require'
  /** Adapters that one line here attaches. */
  readonly adapters: readonly AdapterName[]
  /** The config is a module, which has to be waited for. */
  readonly waits: boolean
}

/** The module that has the dispatcher. */
export function setupText({ serviceName, syntax, adapters, waits }: SetupOptions): string {
  const load = (names: string, from: string) =>
    syntax === 'import' ? `import { ${names} } from '${from}'` : `const { ${names} } = require('${from}')`
  const loads = waits ? 'loadConfig' : 'loadConfigSync'
  const here = adapters.flatMap((adapter) => {
    const { from, way } = WAYS[adapter]
    return way.kind === 'setup'
      ? { adapter, from: from[0] as string, observe: way.observe, as: 'agents' }
      : []
  })
  const whole = (name: string, from: string) =>
    syntax === 'import' ? `import * as ${name} from '${from}'` : `const ${name} = require('${from}')`
  return `// What the agents of this project are attached to.
${[
  ...here.map(({ from, as }) => whole(as, from)),
  load('HookDispatcher', 'hookspan'),
  ...here.map(({ adapter, observe }) => load(observe, `hookspan/${adapter}`)),
  load(loads, 'hookspan/policies'),
  load('startTracing', 'hookspan/tracing'),
].join('\n')}

${syntax === 'import' ? 'export ' : ''}const dispatcher = new HookDispatcher()

// Spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318: \`npx hookspan view\` shows them there.
dispatcher.use(startTracing({ serviceName: '${serviceName}' }))

// The guards of hookspan.config.*. Where the file is not found, or is wrong, the program does not start.
dispatcher.use(${waits ? '(await loadConfig({ required: true }))' : 'loadConfigSync({ required: true })'}.plugin)
${here.map(({ observe, as }) => `\n${observe}(${as}, { dispatcher })\n`).join('')}${
  syntax === 'require' ? '\nexports.dispatcher = dispatcher\n' : ''
}`
}

/** @param denies whether the config is ours, and its policy is known. */
export function testText({ types, denies }: { types: boolean; denies: boolean }): string {
  const name = types ? 'apiName: string' : 'apiName'
  const policy = denies
    ? `  expect(await call('delete_order')).toMatchObject({ state: 'denied', code: 'tool_not_allowed' })\n`
    : ''
  const imports = { mock: 'mock', loadConfig: 'policies', 'expect, test': 'vitest' }
  const load = ([names, from]: [string, string]) => `import { ${names} } from 'hookspan/${from}'`
  return `${Object.entries(imports).map(load).join('\n')}

test('${denies ? 'mocks a tool, and refuses one that deletes' : 'mocks a tool under the guards of the project'}', async ({ dispatcher, mocks }) => {
  dispatcher.use((await loadConfig({ required: true, userFile: false })).plugin)
  mocks.use(mock('find_order').returns({ id: 7, state: 'shipped' }))
  const op = dispatcher.startOperation({ agentName: 'first-test' })
  const call = (${name}) =>
    op.toolCall({ apiName, args: { id: 7 } }, () => Promise.reject(new Error('the real tool ran')))

  expect(await call('find_order')).toMatchObject({ state: 'mocked', result: { state: 'shipped' } })
${policy}  await op.complete()
})
`
}

/** What a loop of one's own begins with. */
export const OWN_LOOP = `const op = dispatcher.startOperation({ agentName: 'support' })
await op.step(async (step) => {
  const reply = await step.llmCall({ model, provider, request }, () => askYourModel(request))
  const order = await step.toolCall({ apiName: 'find_order', args: { id: 7 } }, (args) => findOrder(args))
})
await op.complete()`
