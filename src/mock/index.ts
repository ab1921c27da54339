export { MockDatabase, MockTable, mockDatabase, type RowChange } from './database.ts'
export { type EventLog, recordEvents } from './event-log.ts'
export { HumanAnswer, human } from './humans/human-answer.ts'
export { ScriptedApprovals, scriptedApprovals } from './humans/scripted-approvals.ts'
export { type LiveCallGuard, type NoLiveCallsOptions, noLiveCalls } from './live/no-live-calls.ts'
export { match } from './match/index.ts'
export type { Matcher } from './match/matcher.ts'
export { MockTools, mockTools } from './mock-tools.ts'
export type { MockCoverage, MockToolsCall, MockToolsOptions } from './mock-tools-types.ts'
export type { Divergence } from './recordings/divergence.ts'
export { type FromTraceResult, recordingFromTrace } from './recordings/from-trace.ts'
export { type RecordToolsOptions, recordTools, ToolRecorder } from './recordings/record-tools.ts'
export {
  formatRecording,
  type RecordedTool,
  type RecordedToolCall,
  readRecording,
  type ToolRecording,
} from './recordings/recording.ts'
export { type RedactRecording, redactKeys } from './recordings/redact.ts'
export type { ReplayMode, ReplayReport, ReplayToolsOptions } from './recordings/replay-options.ts'
export {
  replayTools,
  ToolReplay,
} from './recordings/replay-tools.ts'
export type { StreamEnd } from './rules/answer.ts'
export { MockRule, mock } from './rules/mock-rule.ts'
export type { MockedCall } from './rules/mocked-call.ts'
export {
  callTool,
  callTools,
  type ExpectedRequest,
  type ModelStep,
  type ScriptedClientOptions,
  ScriptedModel,
  type ScriptedModelOptions,
  scriptedModel,
} from './scripted-model.ts'
export {
  type Respond,
  type RespondInfo,
  ScriptError,
  type ScriptedError,
  type ScriptedFetch,
  type ScriptedReply,
  type ScriptedRequest,
  type ScriptedServer,
  type ScriptedStep,
  type ScriptedToolCall,
  type ScriptedUsage,
  type ScriptOptions,
  type ScriptReport,
  scriptedFetch,
  startScriptedServer,
} from './scripted-server/index.ts'
export { type CallSummary, type RunSummary, summarizeCalls } from './summary.ts'
export type { ToolDeclaration } from './tool-catalog.ts'
export {
  type AlignedCall,
  type ArgsMode,
  type ArgsPredicate,
  type ExpectedCall,
  type ExpectedSpan,
  type HumanQuestion,
  matchSpans,
  matchTrajectory,
  type ReadableTrajectory,
  readQuestions,
  readTrajectory,
  type SpansResult,
  type TrajectoryCall,
  type TrajectoryMode,
  type TrajectoryOptions,
  type TrajectoryOutcome,
  type TrajectoryResult,
} from './trajectory/index.ts'
