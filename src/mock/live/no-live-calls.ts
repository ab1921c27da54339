import { addToolGuard, currentModelCall } from '../../dispatcher/run/live-calls.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, assertFields, type Fields } from '../../internal/expect.ts'
import { GLOB_LIST, matchesGlob, matchesTool } from '../../internal/glob.ts'
import { Failures } from '../failures.ts'
import { isSubAgent } from '../sub-agent.ts'
import { addNetworkGuard } from './network-guard.ts'

export interface NoLiveCallsOptions {
  /** What is let through after all. */
  allow?: {
    /** `host` or `host:port`; globs. Unix sockets and named pipes are always allowed. */
    hosts?: readonly string[]
    /** Tools that may run although nothing mocks them: names, or `identifier/name`; globs. */
    tools?: readonly string[]
  }
}

const ALLOW: Fields<NonNullable<NoLiveCallsOptions['allow']>> = { hosts: a.strings, tools: GLOB_LIST }

/** Refuses live calls until it is disposed. */
export interface LiveCallGuard extends Disposable {
  /** What was refused, in order. */
  readonly refused: readonly HookspanError[]
  /** @throws HookspanError `LIVE_CALL`, or `MOCKS_FAILED` for several, when anything was refused. */
  assertNone(): void
  /** Lets live calls through again, without a check. */
  stop(): void
}

/**
 * Refuses every live call of this process: a tool of any dispatcher that nothing stands in for, and every network
 * connection, also one that is kept alive from before, so that no model is reached either. Scripted models and
 * servers of this process are let through. The call fails at once; disposing the guard fails the test, too, for an agent may have swallowed the error.
 *
 * What it cannot see: other processes that a tool starts, worker threads, a model that runs inside this process,
 * DNS queries, and HTTP/2 sessions that were open before.
 * Counts for the whole process: of tests that run at once, each sees what any of them was refused.
 *
 * @example
 * using _ = noLiveCalls({ allow: { hosts: ['127.0.0.1:4318'] } })
 */
export function noLiveCalls(options: NoLiveCallsOptions = {}): LiveCallGuard {
  assertFields<NoLiveCallsOptions>(options, { allow: a.object }, 'noLiveCalls')
  const { allow = {} } = options
  assertFields<NonNullable<NoLiveCallsOptions['allow']>>(allow, ALLOW, '`allow` of noLiveCalls')
  const { hosts = [], tools = [] } = allow
  const failures = new Failures()
  const live = (message: string) => failures.add(new HookspanError('LIVE_CALL', message))
  const undo = [
    addToolGuard((call) => {
      if (isSubAgent(call)) return
      const { identifier, apiName } = call
      if (tools.some((glob) => matchesTool(glob, call))) return
      throw live(
        `noLiveCalls(): the real tool "${apiName}" (${identifier}) was about to run. Mock it, or allow it with ` +
          `\`allow: { tools: [${JSON.stringify(apiName)}] }\`.`,
      )
    }),
    addNetworkGuard(({ host, port, aliases = [] }) => {
      const withPort = (one: string) => (port === undefined ? one : `${one}:${port}`)
      const names = [host, ...aliases].flatMap((one) => [one, withPort(one)])
      if (hosts.some((glob) => names.some((one) => matchesGlob(glob, one)))) return undefined
      const name = withPort(aliases[0] ?? host)
      const model = currentModelCall()
      const who = model === undefined ? 'A connection' : `A call of the model "${model.model}"`
      const mend = model === undefined ? 'Mock it' : 'Use scriptedModel([...])'
      return live(
        `noLiveCalls(): ${who} to ${name} was about to be made. ${mend}, or allow it with ` +
          `\`allow: { hosts: [${JSON.stringify(name)}] }\`.`,
      )
    }),
  ]
  const stop = () => {
    for (const one of undo) one()
  }
  return {
    get refused() {
      return failures.all
    },
    assertNone: () => failures.throwAll('test'),
    stop,
    [Symbol.dispose]: () => {
      stop()
      failures.throwUntold('test')
    },
  }
}
