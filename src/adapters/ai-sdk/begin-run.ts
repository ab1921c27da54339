import { defined, isRecord } from '../../internal/objects.ts'
import { ObservedRun, type RunHost, type SaidOfRun } from '../sdk-run/observed-run.ts'
import { ranByProvider, type SdkArguments, type SdkTool } from './sdk.ts'

export interface AgentLike {
  readonly id?: string
  /** What it was made with. */
  readonly settings?: SdkArguments
}

/** What the functions were observed with. */
export interface Host extends RunHost {
  readonly agentName: string | undefined
  readonly omitSdkSpans: boolean
}

/**
 * The run of a call of the SDK.
 *
 * @throws HookspanError `NOT_CAPABLE` where a gate or a mock is meant for a tool that the provider runs.
 */
export function beginRun(host: Host, args: SdkArguments): ObservedRun {
  const run = new ObservedRun(host, saidIn(host, args))
  try {
    assertInReach(run, toolsOf(args))
  } catch (error) {
    void run.fail(error)
    throw error
  }
  return run
}

/** The run of a call of an agent. Which tools it has is known once the call is prepared: it is looked at then whether guards hold. */
export function beginAgentRun(host: Host, agent: AgentLike, params: SdkArguments): ObservedRun {
  const { prepareCall, tools, instructions, ...settings } = agent.settings ?? {}
  const { telemetry, experimental_telemetry } = settings
  // What `prepareCall` makes of the settings nobody knows yet.
  const known = prepareCall === undefined ? { tools, instructions } : {}
  const args = { ...defined({ ...known, telemetry, experimental_telemetry }), ...params }
  return new ObservedRun(host, saidIn(host, args, agent.id))
}

/** @throws HookspanError `NOT_CAPABLE`, as {@link beginRun}. */
export function assertInReach(run: ObservedRun, tools: readonly [name: string, tool: SdkTool][]): void {
  const hosted = tools.filter(([, tool]) => isRecord(tool) && ranByProvider(tool))
  run.assertInReach(hosted.map(([name]) => ({ name, ranBy: 'provider' })))
}

/**
 * For what makes model calls and no loop.
 *
 * @param input of what has no prompt.
 */
export function beginCalls(host: Host, args: SdkArguments, input?: unknown): ObservedRun {
  return new ObservedRun(host, { ...saidIn(host, args), ...defined({ input }) }, { isAgent: false })
}

/** @param name of the agent, where the call itself says none. */
function saidIn(host: Host, args: SdkArguments, name?: string): SaidOfRun {
  const { prompt, messages, instructions, system, abortSignal: signal } = args
  const { functionId } = args.telemetry ?? args.experimental_telemetry ?? {}
  const told = instructions ?? system
  return defined({
    agentName: functionId ?? name ?? host.agentName,
    input: prompt ?? messages,
    instructions: typeof told === 'string' ? told : undefined,
    tools: toolsOf(args).map(([tool]) => ({ name: tool })),
    signal: signal instanceof AbortSignal ? signal : undefined,
  }) as SaidOfRun
}

export function toolsOf({ tools }: SdkArguments): [string, SdkTool][] {
  return isRecord(tools) ? Object.entries(tools).filter(([, tool]) => isRecord(tool)) : []
}
