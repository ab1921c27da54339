/** Each public function that takes options, called with options that are right but for what is added to them. */
import { HookDispatcher, type Operation, ToolResult } from 'hookspan'
import * as adapter from 'hookspan/adapter'
import { adapterContract } from 'hookspan/adapter/contract'
import { type Agent, execAgent, redisCheckpoints, resumeAgent, sqliteCheckpoints } from 'hookspan/agent'
import { observeAISDK, runWith } from 'hookspan/ai-sdk'
import { observeAnthropic } from 'hookspan/anthropic'
import {
  type AnswerOrigin,
  approvalRoutes,
  auditLog,
  createApprovals,
  memoryStore,
  redisChannel,
  redisStore,
  serveApprovals,
  sqliteStore,
  verifyAudit,
  webhookChannel,
} from 'hookspan/approval'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { observeCopilot } from 'hookspan/copilot'
import { durableAgent as durableOnDbos } from 'hookspan/dbos'
import { deny, gateAt, requireApproval } from 'hookspan/gates'
import { hookspanPlugin } from 'hookspan/google-adk'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { observeMastra } from 'hookspan/mastra'
import { observeMcpClient, observeMcpServer } from 'hookspan/mcp'
import {
  human,
  matchSpans,
  matchTrajectory,
  mock,
  mockDatabase,
  mockTools,
  noLiveCalls,
  recordEvents,
  recordTools,
  replayTools,
  scriptedFetch,
  scriptedModel,
  startScriptedServer,
} from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { observeAgents } from 'hookspan/openai-agents'
import {
  budget,
  commandGate,
  commandHooks,
  hookRoutes,
  httpGate,
  loadConfig,
  loadConfigSync,
  loopGuard,
  ReplayGuard,
  redact,
  requireHuman,
  serveHooks,
  toolCache,
  toolPolicy,
  useConfig,
  verifySignature,
  webhookHook,
  webhookHooks,
} from 'hookspan/policies'
import { durableAgent } from 'hookspan/restate'
import { observeStrands } from 'hookspan/strands'
import { durableAgent as durableOnTemporal } from 'hookspan/temporal'
import { startTracing, traceHooks, withFlush } from 'hookspan/tracing'
import { openRunSource, startViewer } from 'hookspan/viewer'
import { matchers, repeatRuns } from 'hookspan/vitest'
import ReporterByName, { MockCoverageReporter } from 'hookspan/vitest-reporter'
import { optionTypes, type Taken } from './option-types.ts'

export type Call = (more: object) => unknown

const dispatcher = () => new HookDispatcher({ onHookError: () => {} })
const hook = { id: 'h', type: 'afterToolCall' as const, handler: () => {} }
const gate = { id: 'g', point: 'beforeToolCall' as const, decide: () => deny('no') }
const approver = { requestApproval: async () => ({ decision: 'approve' as const }) }
const ledger = { claim: async () => ({ state: 'run' as const }), settle: async () => {} }
const tool = { name: 'search', execute: () => 1 }
const client = { chat: { completions: { create: async () => ({}) } } }
const agent = (more: object = {}): Agent => ({ name: 'a', model: 'm', ...more })
const remote = { id: 'r', point: 'beforeToolCall' as const }
const WHAT = { name: 'test', capabilities: {} } as never
const state = {
  ...{
    schema: 'hookspan.run',
    version: 1,
    agentName: 'a',
    hookIds: [],
    operation: {},
    loop: { messages: [{}] },
  },
  ...{ spending: {}, children: {}, callIds: 0, pendingApprovals: [] },
  operation: {
    ...{ version: 1, operationId: 'o', rootOperationId: 'o', sequence: 1, stepIndex: 0 },
    totals: { steps: 0, llmCalls: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0 },
  },
} as never
const url = 'https://hooks.example'
const config = (run: object) => loadConfig({ userFile: false, cwd: '/', run: run as never })

/** What `execAgent` and `resumeAgent` take alike. */
const agentCalls = (run: (options: object) => unknown): Record<string, Call> => ({
  Agent: (more) => run({ agent: agent(more) }),
  AgentTool: (more) => run({ agent: agent({ tools: [{ ...tool, ...more }] }) }),
  ApprovalOptions: (more) => run({ agent: agent({ tools: [{ ...tool, approval: more }] }) }),
  Compaction: (more) => run({ agent: agent({ compaction: { thresholdTokens: 9, ...more } }) }),
  Gate: (more) => run({ agent: agent(), gates: [{ ...gate, ...more }] }),
  HookOf: (more) => run({ agent: agent(), hooks: [{ ...hook, ...more }] }),
  Approver: (more) => run({ agent: agent(), approver: { ...approver, ...more } }),
  ExecutionLedger: (more) =>
    run({ agent: agent(), approver: { ...approver, ledger: { ...ledger, ...more } } }),
})

const exec = (options: object) => execAgent({ agent: agent(), prompt: 'go', client, ...options } as never)
const resume = (options: object) => resumeAgent({ agent: agent(), client, state, ...options } as never)
const scripts = (run: (steps: object[]) => unknown): Record<string, Call> => ({
  ScriptedStep: (more) => run([more]),
  ScriptedToolCall: (more) => run([{ toolCalls: [{ name: 'x', ...more }] }]),
  ScriptedUsage: (more) => run([{ usage: more }]),
  ScriptedError: (more) => run([{ error: { status: 500, message: '', ...more } }]),
  ScriptedReply: (more) => run([{ raw: { body: '', ...more } }]),
})
const configCalls = (load: (run: object) => unknown): Record<string, Call> => ({
  ConfigLayer: load,
  ConfigEntry: (more) => load({ gates: [{ id: 'a', type: 'budget', maxSteps: 1, ...more }] }),
  Gate: (more) => load({ gates: [{ ...gate, ...more }] }),
  HookOf: (more) => load({ hooks: [{ ...hook, ...more }] }),
})
const WEBHOOK =
  'url, secret, headers, allowPrivateAddresses, timeoutMs, maxAttempts, baseDelayMs, maxDelayMs, maxQueued, concurrency, deadLetterPath'
const STEP =
  'content, reasoning, toolCalls, usage, finishReason, model, id, error, raw, cutAfterChunks, latencyMs, chunkDelayMs, toolCallOrder'
const TIMEOUT = '{ timeoutMs }'

/** By who takes it, and the type of what it takes. */
export const CALLS: Record<string, Record<string, Call>> = {
  'new HookDispatcher': { HookDispatcherOptions: (more) => new HookDispatcher(more) },
  'HookDispatcher#register': {
    HookOf: (more) => dispatcher().register('op', [{ ...hook, ...more } as never]),
  },
  'HookDispatcher#drain': { [TIMEOUT]: (more) => dispatcher().drain(undefined, more) },
  'HookDispatcher#shutdown': { [TIMEOUT]: (more) => dispatcher().shutdown(more) },
  'NamedHooks#define': { HookOf: (more) => dispatcher().namedHooks.define([{ ...hook, ...more } as never]) },
  'HookDispatcher#use': {
    Plugin: (more) => dispatcher().use({ name: 'p', ...more }),
    HookOf: (more) => dispatcher().use({ name: 'p', hooks: [{ ...hook, ...more } as never] }),
    Gate: (more) => dispatcher().use({ name: 'p', gates: [{ ...gate, ...more }] }),
    Approver: (more) => dispatcher().use({ name: 'p', approver: { ...approver, ...more } }),
    ExecutionLedger: (more) =>
      dispatcher().use({ name: 'p', approver: { ...approver, ledger: { ...ledger, ...more } } }),
    Instrument: (more) => dispatcher().use({ name: 'p', instrument: { start: () => undefined, ...more } }),
  },
  'HookDispatcher#startOperation': {
    OperationInit: (more) => dispatcher().startOperation(more),
    HookOf: (more) => dispatcher().startOperation({ hooks: [{ ...hook, ...more } as never] }),
    Gate: (more) => dispatcher().startOperation({ gates: [{ ...gate, ...more }] }),
    RunTool: (more) => dispatcher().startOperation({ tools: [{ name: 't', ...more }] }),
    Approver: (more) => dispatcher().startOperation({ approver: { ...approver, ...more } }),
    ExecutionLedger: (more) =>
      dispatcher().startOperation({ approver: { ...approver, ledger: { ...ledger, ...more } } }),
  },
  'Operation#step': {
    StepInit: (more) =>
      dispatcher()
        .startOperation()
        .step(async () => {}, more),
  },
  'Operation#openStep': { StepInit: (more) => dispatcher().startOperation().openStep(more) },
  'Operation#complete': { CompleteInit: (more) => dispatcher().startOperation().complete(more) },
  'Operation#park': {
    '{ waitingFor }': (more) =>
      dispatcher()
        .startOperation()
        .park({ waitingFor: 'human', ...more }),
  },
  'Step#report': {
    StepReport: (more) =>
      dispatcher()
        .startOperation()
        .step(async (step) => step.report(more)),
  },
  'OpenStep#report': {
    StepReport: async (more) => (await dispatcher().startOperation().openStep()).report(more),
  },
  'HumanIntervention#answered': {
    HumanAnswer: (more) =>
      dispatcher()
        .startOperation()
        .openHumanIntervention({ pendingTools: [] })
        .answered({ action: 'approve', ...more }),
  },
  'new ToolResult': {
    '{ content, success, data }': (more) => new ToolResult({ content: '', ...more }),
  },
  deny: {
    '{ code, stop }': (more) => deny('no', more),
  },
  requireApproval: { ApprovalOptions: (more) => requireApproval(more) },
  startTracing: {
    StartTracingOptions: (more) => startTracing(more),
    SpanQueueOptions: (more) => startTracing({ queue: more }),
  },
  withFlush: {
    WithFlushOptions: (more) => traced((tracing) => withFlush(() => {}, { tracing, ...more })),
  },
  'startTracing().forceFlush': { [TIMEOUT]: (more) => traced((tracing) => tracing.forceFlush(more)) },
  'startTracing().shutdown': { [TIMEOUT]: (more) => traced((tracing) => tracing.shutdown(more)) },
  traceHooks: { TraceHooksOptions: (more) => traceHooks(more) },
  adapterContract: {
    ContractSubject: (more) =>
      adapterContract({ ...(WHAT as object), run: async () => ({}), ...more } as never),
  },
  execAgent: { ...agentCalls(exec), ExecAgentOptions: exec },
  resumeAgent: { ...agentCalls(resume), ResumeAgentOptions: resume },
  durableAgent: {
    ...agentCalls((options) => durableAgent({ name: 'd', client, ...options } as never)),
    DbosAgentOptions: (more) => durableOnDbos({ name: 'd', agent: agent(), client, ...more }),
    RestateAgentOptions: (more) => durableAgent({ name: 'd', agent: agent(), client, ...more }),
    TemporalAgentOptions: (more) => durableOnTemporal({ name: 'd', agent: agent(), client, ...more }),
  },
  observeAgents: { ObserveAgentsOptions: (more) => observeAgents({}, { dispatcher: dispatcher(), ...more }) },
  observeAISDK: { ObserveAISDKOptions: (more) => observeAISDK({}, { dispatcher: dispatcher(), ...more }) },
  wrapTools: { WrapToolsOptions: (more) => adapter.wrapTools({}, { dispatcher: dispatcher(), ...more }) },
  observeMastra: { ObserveMastraOptions: (more) => observeMastra({}, { dispatcher: dispatcher(), ...more }) },
  observeStrands: {
    ObserveStrandsOptions: (more) => observeStrands({}, { dispatcher: dispatcher(), ...more }),
  },
  observeClaudeAgent: {
    ObserveClaudeAgentOptions: (more) =>
      observeClaudeAgent(() => undefined as never, { dispatcher: dispatcher(), ...more }),
  },
  observeCopilot: {
    ObserveCopilotOptions: (more) =>
      observeCopilot({ createSession() {}, resumeSession() {} }, { dispatcher: dispatcher(), ...more }),
  },
  hookspanPlugin: { HookspanPluginOptions: (more) => hookspanPlugin({ dispatcher: dispatcher(), ...more }) },
  runWith: { RunWithInit: (more) => runWith(more, () => {}) },
  observeAnthropic: {
    ObserveAnthropicOptions: (more) => observeAnthropic({}, { dispatcher: dispatcher(), ...more }),
  },
  hookspanCallbacks: {
    HookspanCallbacksOptions: (more) => hookspanCallbacks({ dispatcher: dispatcher(), ...more }),
  },
  hookspanMiddleware: {
    HookspanMiddlewareOptions: (more) => hookspanMiddleware({ dispatcher: dispatcher(), ...more }),
  },
  observeMcpClient: {
    ObserveMcpClientOptions: (more) => observeMcpClient({}, { dispatcher: dispatcher(), ...more }),
  },
  observeMcpServer: {
    ObserveMcpServerOptions: (more) => observeMcpServer({}, { dispatcher: dispatcher(), ...more }),
  },
  observeGoogleGenAI: {
    ObserveOptions: (more) => observeGoogleGenAI({}, { dispatcher: dispatcher(), ...more }),
  },
  observeOpenAI: { ObserveOptions: (more) => observeOpenAI({}, { dispatcher: dispatcher(), ...more }) },
  openRunSource: { RunSourceOptions: (more) => openRunSource(more) },
  startViewer: { ViewerOptions: (more) => startViewer({ db: ':memory:', port: 0, ...more }) },
  'new ReplayGuard': { '{ maxEntries }': (more) => new ReplayGuard(more) },
  verifySignature: {
    VerifyOptions: (more) => verifySignature({ secret: 's', headers: {}, body: '', ...more }),
  },
  budget: { BudgetOptions: (more) => budget({ maxSteps: 1, ...more }) },
  commandGate: { CommandGateOptions: (more) => commandGate({ ...remote, command: 'true', ...more }) },
  httpGate: { HttpGateOptions: (more) => httpGate({ ...remote, url, ...more }) },
  loopGuard: { LoopGuardOptions: (more) => loopGuard(more) },
  redact: { RedactOptions: (more) => redact(more) },
  requireHuman: { RequireHumanOptions: (more) => requireHuman(more) },
  toolCache: { ToolCacheOptions: (more) => toolCache({ match: 'read_*', ...more }) },
  toolPolicy: { ToolPolicyOptions: (more) => toolPolicy({ deny: ['x'], ...more }) },
  loadConfig: {
    ...configCalls(config),
    LoadConfigOptions: (more) => loadConfig({ userFile: false, cwd: '/', ...more }),
    GateType: (more) =>
      loadConfig({
        userFile: false,
        cwd: '/',
        gateTypes: { x: { options: [], create: () => gate, ...more } },
      }),
  },
  loadConfigSync: {
    ...configCalls((run) => loadConfigSync({ userFile: false, cwd: '/', run: run as never })),
    LoadConfigOptions: (more) => loadConfigSync({ userFile: false, cwd: '/', ...more }),
    GateType: (more) =>
      loadConfigSync({
        userFile: false,
        cwd: '/',
        gateTypes: { x: { options: [], create: () => gate, ...more } },
      }),
  },
  useConfig: {
    ...configCalls((run) => useConfig(dispatcher(), { userFile: false, cwd: '/', run: run as never })),
    UseConfigOptions: (more) => useConfig(dispatcher(), { userFile: false, cwd: '/', ...more }),
  },
  gateAt: { GateAt: (more) => gateAt('onStart', { id: 'g', decide() {}, ...more }) },
  commandHooks: {
    CommandHooksOptions: (more) => commandHooks({ id: 'c', types: ['onComplete'], command: 'ls', ...more }),
  },
  hookRoutes: {
    HookRoutesOptions: (more) =>
      hookRoutes({ dispatcher: dispatcher(), token: 'a token of some length', ...more }),
  },
  serveHooks: {
    ServeHooksOptions: (more) =>
      serveHooks({ dispatcher: dispatcher(), token: 'a token of some length', ...more }),
  },
  'serveHooks().flush': {
    [TIMEOUT]: async (more) => {
      const server = await serveHooks({ dispatcher: dispatcher(), token: 'a token of some length' })
      await server.flush(more).finally(() => server.close())
    },
  },
  'hookRoutes().flush': {
    [TIMEOUT]: (more) =>
      hookRoutes({ dispatcher: dispatcher(), token: 'a token of some length' }).flush(more),
  },
  webhookHook: { WebhookHookOptions: (more) => webhookHook({ id: 'w', type: 'onComplete', url, ...more }) },
  webhookHooks: {
    WebhookHooksOptions: (more) => webhookHooks({ id: 'w', types: ['onComplete'], url, ...more }),
  },
  'webhookHook().flush': {
    [TIMEOUT]: (more) => webhookHook({ id: 'w', type: 'onComplete', url }).flush(more),
  },
  auditLog: { AuditOptions: (more) => auditLog({ path: '/nowhere/audit.jsonl', ...more }) },
  verifyAudit: { AuditOptions: (more) => verifyAudit({ path: '/nowhere/audit.jsonl', ...more }) },
  createApprovals: {
    ApprovalsOptions: (more) => createApprovals(more),
    ApprovalChannel: (more) => createApprovals({ channels: [{ name: 'c', ...more }] }),
  },
  'createApprovals().list': { ApprovalFilter: (more) => createApprovals().list(more) },
  'createApprovals().respond': { ApprovalAnswer: answered, AnswerOrigin: (more) => answered({}, more) },
  redisChannel: {
    RedisChannelOptions: (more) => redisChannel({ secret: 'a secret of some length', ...more }),
  },
  redisCheckpoints: { RedisCheckpointsOptions: (more) => redisCheckpoints(more) },
  redisStore: { RedisStoreOptions: (more) => redisStore(more) },
  approvalRoutes: {
    ApprovalRoutesOptions: (more) =>
      approvalRoutes({ approvals: createApprovals(), token: 'a token of some length', ...more }),
  },
  serveApprovals: {
    ServeApprovalsOptions: (more) =>
      serveApprovals({ approvals: createApprovals(), token: 'a token of some length', ...more }),
  },
  sqliteCheckpoints: { '{ path }': (more) => sqliteCheckpoints({ path: ':memory:', ...more }) },
  memoryStore: { Retention: (more) => memoryStore(more) },
  sqliteStore: { SqliteStoreOptions: (more) => sqliteStore({ path: ':memory:', ...more }) },
  webhookChannel: {
    [`{ ${WEBHOOK}, name }`]: (more) => webhookChannel({ url, ...more }),
  },
  mockDatabase: { '{ key }': (more) => mockDatabase({}, more) },
  recordEvents: { '{ maxEvents }': (more) => recordEvents(dispatcher(), more) },
  'HumanAnswer#rejects': { '{ stop }': (more) => human('x').rejects('no', more) },
  noLiveCalls: {
    NoLiveCallsOptions: (more) => noLiveCalls(more),
    '{ hosts, tools }': (more) => noLiveCalls({ allow: more }),
  },
  mockTools: {
    MockToolsOptions: (more) => mockTools(dispatcher(), [], more),
    ToolDeclaration: (more) => mockTools(dispatcher(), [], { tools: [{ name: 'x', ...more }] }),
  },
  recordTools: {
    RecordToolsOptions: (more) => recordTools(dispatcher(), more),
    ToolDeclaration: (more) => recordTools(dispatcher(), { tools: [{ name: 'x', ...more }] }),
  },
  replayTools: {
    ReplayToolsOptions: (more) => replayTools(dispatcher(), { file: '/nowhere.json', ...more }),
    ToolDeclaration: (more) =>
      replayTools(dispatcher(), { file: '/nowhere.json', tools: [{ name: 'x', ...more }] }),
  },
  'MockRule#streams': { StreamEnd: (more) => mock('x').streams([], more) },
  scriptedModel: {
    ...scripts((steps) => scriptedModel(steps)),
    ScriptedModelOptions: (more) => scriptedModel([], more),
    [`{ ${STEP}, expects }`]: (more) => scriptedModel([{ expects: {}, ...more } as never]),
    ExpectedRequest: (more) => scriptedModel([{ expects: more }]),
  },
  scriptedFetch: {
    ...scripts((steps) => scriptedFetch({ steps })),
    ScriptOptions: (more) => scriptedFetch({ steps: [], ...more }),
  },
  startScriptedServer: {
    ...scripts((steps) => startScriptedServer({ steps })),
    ScriptOptions: (more) => startScriptedServer({ steps: [], ...more }),
  },
  matchSpans: {
    '{ name, attributes, kind, failed, parent, under }': (more) => matchSpans([], [{ name: 'a', ...more }]),
  },
  matchTrajectory: {
    TrajectoryOptions: (more) => matchTrajectory([{ name: 'a' }], ['a'], more as never),
    '{ name, args, argsMode, result, outcome, agent, id, after }': (more) =>
      matchTrajectory([{ name: 'a' }], [{ name: 'a', ...more }]),
  },
  repeatRuns: { '{ concurrency }': (more) => repeatRuns(1, () => {}, more) },
  'new MockCoverageReporter': {
    '{ write }': (more) => new MockCoverageReporter(more),
  },
  'new default': { '{ write }': (more) => new ReporterByName(more) },
  // By an interface that vitest is given, which no function takes.
  toHaveCalledTool: {
    CalledToolOptions: (more) => matchers.toHaveCalledTool([{ name: 'a' }], 'a', {}, more),
  },
  toHaveBeenDenied: { DeniedOptions: (more) => matchers.toHaveBeenDenied([{ name: 'a' }], 'a', more) },
  toHaveAskedHuman: { AskedHumanOptions: (more) => matchers.toHaveAskedHuman([{ name: 'a' }], 'a', more) },
  'event.mock': { ToolMock: mocked },
}

/** Where calls may be made from: each takes the same. */
const MAKERS: Record<string, (use: (maker: adapter.OpenStep) => unknown) => Promise<unknown>> = {
  CallMaker: async (use) => {
    const op = dispatcher().startOperation()
    return op.run(() => use(adapter.currentCalls() as never))
  },
  Operation: async (use) => use(dispatcher().startOperation() as unknown as adapter.OpenStep),
  Step: (use) =>
    dispatcher()
      .startOperation()
      .step(async (step) => use(step as adapter.OpenStep)),
  OpenStep: async (use) => use(await dispatcher().startOperation().openStep()),
}
const llm = { model: 'm', request: {} }
const asked = { instruction: 'go' }
const counts = { messageCount: 1, tokenCount: 1 }
const human1 = { pendingTools: [] }
for (const [name, from] of Object.entries(MAKERS)) {
  const method = (which: string, type: string, call: (maker: adapter.OpenStep, more: object) => unknown) => {
    CALLS[`${name}#${which}`] = { [type]: (more) => from((maker) => call(maker, more)) }
  }
  method('assertInReach', 'ToolOutOfReach', (m, more) =>
    m.assertInReach([{ name: 't', ranBy: 'sdk', ...more }]),
  )
  method('toolCall', 'ToolCallInit', (m, more) => m.toolCall({ apiName: 't', args: {}, ...more }, () => 1))
  method('openToolCall', 'ToolCallInit', (m, more) => m.openToolCall({ apiName: 't', args: {}, ...more }))
  const refused = { kind: 'deny', reason: 'no' } as const
  CALLS[`${name}#toolCall`]!.ToolCallRefused = (more) =>
    from((m) => m.toolCall({ apiName: 't', args: {}, refused: { ...refused, ...more } }, () => 1))
  CALLS[`${name}#openToolCall`]!.ToolCallRefused = (more) =>
    from((m) => m.openToolCall({ apiName: 't', args: {}, refused: { ...refused, ...more } }))
  CALLS[`${name}#toolCall`]!.ToolCallFailed = (more) =>
    from((m) => m.toolCall({ apiName: 't', args: {}, failed: { error: 'no', ...more } }, () => 1))
  CALLS[`${name}#openToolCall`]!.ToolCallFailed = (more) =>
    from((m) => m.openToolCall({ apiName: 't', args: {}, failed: { error: 'no', ...more } }))
  method('llmCall', 'LlmCallInit', (m, more) => m.llmCall({ ...llm, ...more }, () => ({})))
  method('openLlmCall', 'LlmCallInit', (m, more) => m.openLlmCall({ ...llm, ...more }))
  method('callAgent', 'CallAgentInit', (m, more) => m.callAgent({ ...asked, ...more }, () => 1))
  method('openAgentCall', 'CallAgentInit', (m, more) => m.openAgentCall({ ...asked, ...more }))
  method('compact', 'CompactInit', (m, more) => m.compact({ ...counts, ...more }, () => ({})))
  method('openCompaction', 'CompactInit', (m, more) => m.openCompaction({ ...counts, ...more }))
  method('openHumanIntervention', 'HumanInterventionInit', (m, more) =>
    m.openHumanIntervention({ ...human1, ...more }),
  )
}

async function traced(use: (tracing: ReturnType<typeof startTracing>) => unknown): Promise<void> {
  const tracing = startTracing({
    exporter: { export: (_, done) => done({ code: 0 }), shutdown: async () => {} },
  })
  try {
    await use(tracing)
  } finally {
    await tracing.shutdown()
  }
}

async function answered(more: object, origin?: AnswerOrigin): Promise<unknown> {
  const store = memoryStore()
  const approvals = createApprovals({ store })
  await store.add({ id: 'r', allow: ['approve', 'reject', 'edit'] } as never)
  return approvals.respond('r', { decision: 'approve', ...more }, origin)
}

async function mocked(more: object): Promise<unknown> {
  const op: Operation = dispatcher().startOperation({
    hooks: [{ id: 'm', type: 'beforeToolCall', handler: (event) => event.mock({ content: '', ...more }) }],
  })
  const outcome = await op.toolCall({ apiName: 't', args: {} }, () => 'ran')
  if (outcome.state === 'errored') throw outcome.error
  return outcome
}

/** Types that nobody writes by hand, or that others gave: what they hold more is not ours to judge. */
const NOT_OPTIONS: Record<string, RegExp> = {
  'handed back as it was given':
    /^(ParkedOperation|SavedRun|ParentOperation|CallingOperation|Approvals|ToolRecording|LinkedRun|MockCoverage)$/,
  'handed from one part of the package to another': /^(ApprovalRequest|SettledExecution|RecordedToolCall)$/,
  'data of a run, to which runtimes add fields': /Event$|^(Omit|PendingTool|AgentMessage)$/,
  'a service with methods of its own':
    /^(SpanExporter|SpanProcessor|EventLogger|OpenAIClient|RedisClient|ApprovalStore|CheckpointStore|AuditLog|ViewerApprovals|TemporalWorkflowSdk|\{ get \}|\{ nonCancellable; current \})$/,
  'what the package calls itself': /^(CallSite|Place|GateContext|HookContext|TestModule)$/,
  'told whole, by a check of its own': /^AdapterInfo$/,
  'no object of options': /^NonNullable$/,
}
/** Whose options are checked elsewhere, or are not for users. */
const NOT_ASKED: Record<string, RegExp> = {
  'made by the methods of an operation':
    /^new (CallMaker|Operation|AgentCall|CompactCall|HumanIntervention|OpenLlmCall|OpenToolCall)$/,
  'made by the function of the same name': /^new (MockTools|ToolRecorder|ToolReplay|ScriptedModel)$/,
  'looked at when the config is loaded': /^defineConfig$/,
  'looked at when the run starts': /^(NamedHooks#resolve|runWith)$/,
  'part of a plugin that the package made': /^(approvalRoutes|serveApprovals)$/,
  'the store of the viewer, for reading': /^(new Store$|Store#)/,
  'what a function of the package gave, called by the package':
    /^(memoryStore|redisStore|sqliteStore|redisCheckpoints|sqliteCheckpoints|budget|commandGate|httpGate|loopGuard|redact|requireHuman|toolCache|toolPolicy|AgentCall#|CompactCall#|HumanIntervention#close|webhookHook\(\)\.handler)/,
  'takes what adapterContract took': /^resumeElsewhere$/,
}

const among = (patterns: Record<string, RegExp>, name: string) =>
  Object.values(patterns).some((one) => one.test(name))

const EXTRA: Taken[] = [
  {
    who: 'toHaveCalledTool',
    type: 'CalledToolOptions',
    keys: ['args', 'times', 'result', 'outcome', 'agent'],
  },
  { who: 'toHaveBeenDenied', type: 'DeniedOptions', keys: ['code', 'reason'] },
  { who: 'toHaveAskedHuman', type: 'AskedHumanOptions', keys: ['action', 'approver', 'times'] },
  { who: 'event.mock', type: 'ToolMock', keys: ['content', 'success', 'data', 'error', 'delayMs'] },
  { who: 'loadConfig', type: 'GateType', keys: ['options', 'create'] },
  { who: 'loadConfigSync', type: 'GateType', keys: ['options', 'create'] },
]

export const all = optionTypes((type) => among(NOT_OPTIONS, type))
export const asks = [...all, ...EXTRA].filter(
  ({ who, type }) => CALLS[who]?.[type] !== undefined || !(among(NOT_OPTIONS, type) || among(NOT_ASKED, who)),
)
