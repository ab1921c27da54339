import { ProxyTracerProvider, type TracerProvider, trace } from '@opentelemetry/api'

/** Whether somebody's OpenTelemetry SDK takes spans in this process. Not told by a class's name, which a bundle may have changed. */
export function isSdkRegistered(): boolean {
  const provider = trace.getTracerProvider() as TracerProvider & Partial<ProxyTracerProvider>
  const delegate = provider.getDelegate?.()
  return delegate !== undefined && delegate !== new ProxyTracerProvider().getDelegate()
}
