import {
  context,
  createContextKey,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'

/** Whether somebody's OpenTelemetry SDK takes spans in this process. Not told by a class's name, which a bundle may have changed. */
export function isSdkRegistered(): boolean {
  const provider = trace.getTracerProvider() as TracerProvider & Partial<ProxyTracerProvider>
  const delegate = provider.getDelegate?.()
  return delegate !== undefined && delegate !== new ProxyTracerProvider().getDelegate()
}

const PROBE = createContextKey('hookspan probe')

/** What of the API somebody has set up for the process, where this copy of the API has it. */
export function registered(): { readonly contexts: boolean; readonly propagators: boolean } {
  const contexts = context.with(
    ROOT_CONTEXT.setValue(PROBE, true),
    () => context.active().getValue(PROBE) === true,
  )
  return { contexts, propagators: propagation.fields().length > 0 }
}

/** The version of the copy of the API in which the first of the process has registered itself. */
export function registeredVersion(): unknown {
  const global = globalThis as { [key: symbol]: { readonly version?: unknown } | undefined }
  return global[Symbol.for('opentelemetry.js.api.1')]?.version
}
