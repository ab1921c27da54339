export { ReplayGuard, type VerifyOptions, verifySignature } from '../internal/signature.ts'
export { type BudgetOptions, budget } from './budget.ts'
export { type CommandGateOptions, commandGate, type RemoteGateOptions } from './command-gate.ts'
export { type CommandHooksOptions, commandHooks } from './command-hook.ts'
export type { CommandProgram } from './command-program.ts'
export { type LoadConfigOptions, type LoadedConfig, loadConfig, loadConfigSync } from './config/load.ts'
export {
  type ConfigEntry,
  type ConfigLayer,
  defineConfig,
  type GateType,
  type GateTypeContext,
  type LayerName,
  type LoadedEntry,
} from './config/types.ts'
export { type ConfigInUse, type UseConfigOptions, useConfig } from './config/use-config.ts'
export { type HttpGateOptions, httpGate } from './http-gate.ts'
export type { GateInvocation } from './invocation.ts'
export type { RedactKind } from './known-forms.ts'
export { type LoopGuardOptions, loopGuard } from './loop-guard.ts'
export type { ReadyGateOptions } from './options.ts'
export {
  type HookRoutes,
  type HookRoutesOptions,
  type HooksListing,
  hookRoutes,
  type WebhookChange,
} from './over-http/hook-routes.ts'
export type { RegisteredWebhook, WebhookRegistration } from './over-http/remote-webhooks.ts'
export { type HooksServer, type ServeHooksOptions, serveHooks } from './over-http/serve-hooks.ts'
export type { GateProtocol } from './protocols/protocol.ts'
export { type RedactOptions, type RedactPlace, redact } from './redact.ts'
export { type RequireHumanOptions, requireHuman } from './require-human.ts'
export { type ToolCacheOptions, toolCache } from './tool-cache.ts'
export { type ToolPolicyOptions, toolPolicy } from './tool-policy.ts'
export {
  type WebhookHook,
  type WebhookHookOptions,
  type WebhookHooksOptions,
  webhookHook,
  webhookHooks,
} from './webhook-hook.ts'
