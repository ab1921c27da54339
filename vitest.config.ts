import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vitest/config'
import manifest from './package.json' with { type: 'json' }
import oldestManifest from './test/sdks/oldest/package.json' with { type: 'json' }
import sdksManifest from './test/sdks/package.json' with { type: 'json' }

/** Tests import the package by its public names, as a user does; the names resolve to the sources. */
const alias = Object.entries(manifest.exports).flatMap(([name, target]) => {
  if (typeof target === 'string') return []
  const source = target.default.replace(/^\.\/dist\/(.*)\.js$/, './src/$1.ts')
  const replacement = fileURLToPath(new URL(source, import.meta.url))
  return [{ find: new RegExp(`^hookspan${name.slice(1)}$`), replacement }]
})

const UNIT = [
  'src/**/*.test.ts',
  'test/*.test.ts',
  'examples/**/*.test.ts',
  'test/{core,spans,wire,agent,types,gates,mock,vitest}/**/*.test.ts',
]

/** Asks whether an SDK is as it was: nobody else may have observed it. */
const ADAPTER_ALONE = 'test/adapter/openai-agents/observe-agents.test.ts'

/** Those that stop the clock, or ask what is left in the process: others must not be at work in it. */
const ALONE = UNIT.flatMap((pattern) => globSync(pattern)).filter((file) =>
  /useFakeTimers|resetModules|vi\.mock\(|unhandledRejection|expose-gc/.test(readFileSync(file, 'utf8')),
)

/** Adapters on the oldest versions of their SDKs. */
const OLDEST = 'test/sdks/oldest/*.test.ts'

/** A fault at each moment of each SDK: a third of what the SDKs take. */
const SDK_FAULTS = 'test/sdks/*-faults.test.ts'

/** Ask what is global in the process: others must not have set it before, nor observe an agent that its SDK keeps. */
const SDKS_ALONE = [
  'test/sdks/google-adk-spans.test.ts',
  'test/sdks/mastra-unobserved.test.ts',
  'test/sdks/tool-body.test.ts',
]

/** Examples on SDKs that only test/sdks has. */
const SDK_EXAMPLES = 'examples/{claude-agent,mastra,strands,google-adk,copilot}/**/*.test.ts'

/** Beside what they test, and as long as the others of their suite. */
const OF_TRACING = 'src/tracing/**/*.test.ts'

/** The commands that read the viewer's store, each a process of its own. */
const COMMANDS = 'test/viewer/commands*.test.ts'

/** Lets files find SDKs in a folder that has its own. */
const packagesOf = (folder: string, { dependencies }: { dependencies: object }, files: RegExp): Plugin => ({
  name: folder,
  enforce: 'pre',
  resolveId(source, importer, options) {
    const name = source.match(/^(@[^/]+\/)?[^@./][^/]*/)?.[0] ?? ''
    if (importer === undefined || !files.test(importer) || !(name in dependencies)) return null
    return this.resolve(source, fileURLToPath(new URL(`${folder}/package.json`, import.meta.url)), options)
  },
})

/** Installed with and without a lock. */
const SDKS = { ...sdksManifest.dependencies, ...sdksManifest.withoutLock }

/** Where `.ci/run` wants the counts of a run. */
const report = process.env.HOOKSPAN_TEST_REPORT

export default defineConfig({
  resolve: { alias },
  test: {
    // For what comes early, also on a machine that is busy with something else.
    expect: { poll: { timeout: 60_000, interval: 10 } },
    // What one suite has compiled of the sources the next one finds, and so does the next run.
    fsModuleCache: true,
    // The default leaves one core out, which on two cores is half of the time: most tests wait for processes.
    maxWorkers: Math.max(availableParallelism(), 2),
    ...(report !== undefined && { reporters: ['default', ['json', { outputFile: report }]] }),
    projects: [
      ...[
        // Loading hookspan anew for each file would be two thirds of their time.
        { name: 'unit', isolate: false, include: UNIT, without: ALONE },
        { name: 'unit-alone', isolate: true, include: [...ALONE, ADAPTER_ALONE], without: [] },
      ].map(({ without, ...which }) => ({
        extends: true as const,
        test: {
          ...which,
          exclude: ['**/node_modules/**', SDK_EXAMPLES, OF_TRACING, ...without],
          // Not for what takes long, but for a machine that gives a tenth of itself: nothing here shows speed.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      })),
      ...Object.entries({
        tracing: ['test/tracing/**/*.test.ts', OF_TRACING],
        policies: ['test/{policies,approval}/**/*.test.ts'],
        adapter: ['test/adapter/**/*.test.ts'],
        viewer: ['test/viewer/**/*.test.ts'],
      }).map(([name, include]) => ({
        extends: true as const,
        test: {
          name,
          include,
          // As with the unit tests: loading hookspan and an SDK anew for each file is half of their time.
          isolate: name === 'policies',
          exclude: ['**/node_modules/**', COMMANDS, ADAPTER_ALONE],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      })),
      {
        extends: true,
        test: {
          name: 'cli',
          include: ['test/{cli,register}/**/*.test.ts', COMMANDS],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: { name: 'examples', include: ['test/examples/**/*.test.ts'], testTimeout: 180_000 },
      },
      {
        extends: true,
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          globalSetup: 'test/package/shared.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
          // They share a browser, and what they load.
          isolate: false,
        },
      },
      {
        extends: true,
        // One of them builds the site.
        test: {
          name: 'docs',
          include: ['test/docs/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        extends: true,
        test: { name: 'kill', include: ['test/kill/**/*.test.ts'], testTimeout: 300_000 },
      },
      {
        extends: true,
        test: {
          name: 'backends',
          include: ['test/backends/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 400_000,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'conformance',
          // Examples that are tests: setup.ts looks at what they trace.
          include: ['test/conformance/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: ['**/node_modules/**', SDK_EXAMPLES],
          setupFiles: 'test/conformance/setup.ts',
          testTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: { name: 'attack', include: ['test/attack/**/*.test.ts'], testTimeout: 120_000 },
      },
      ...[
        {
          name: 'sdks',
          include: ['test/sdks/**/*.test.ts', SDK_EXAMPLES],
          exclude: ['**/node_modules/**', OLDEST, SDK_FAULTS, ...SDKS_ALONE],
          // Loading the SDKs anew for each file is half of the time of most.
          isolate: false,
        },
        { name: 'sdks-alone', include: SDKS_ALONE },
        { name: 'sdks-faults', include: [SDK_FAULTS] },
      ].map((which) => ({
        extends: true as const,
        plugins: [packagesOf('test/sdks', { dependencies: SDKS }, /\/examples\//)],
        test: {
          ...which,
          setupFiles: 'test/conformance/setup.ts',
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          globalSetup: 'test/sdks/support/sdks.ts',
        },
      })),
      {
        extends: true,
        plugins: [packagesOf('test/sdks/oldest', oldestManifest, /\/(test|src)\//)],
        test: {
          name: 'oldest',
          include: [OLDEST],
          testTimeout: 120_000,
          // As those of the SDKs, which it runs with.
          fileParallelism: false,
          globalSetup: 'test/sdks/support/oldest.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 300_000,
          fileParallelism: false,
          globalSetup: 'test/chaos/support/table.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'durable',
          include: ['test/durable/**/*.test.ts'],
          exclude: ['**/node_modules/**'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          globalSetup: 'test/durable/support/engines.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'fleet',
          include: ['test/fleet/**/*.test.ts'],
          exclude: ['**/node_modules/**'],
          testTimeout: 1_200_000,
          hookTimeout: 600_000,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'jaeger',
          include: ['test/jaeger/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          fileParallelism: false,
          globalSetup: 'test/package/shared.ts',
        },
      },
    ],
  },
})
