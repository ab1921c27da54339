export { ReplayGuard, type VerifyOptions, verifySignature } from '../internal/signature.ts'
export { type CommandGateOptions, commandGate, type RemoteGateOptions } from './command-gate.ts'
export { type HttpGateOptions, httpGate } from './http-gate.ts'
export type { GateInvocation } from './invocation.ts'
