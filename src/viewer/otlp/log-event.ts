import type { OtlpEvent, OtlpLogRecord } from '../../internal/otlp/types.ts'

/** A log record that belongs to a span, as one of the span's events. */
export function logAsOtlpEvent(record: OtlpLogRecord): OtlpEvent {
  const attributes = [...(record.attributes ?? [])]
  if (record.body) attributes.push({ key: 'log.body', value: record.body })
  if (record.severityText)
    attributes.push({ key: 'log.severity', value: { stringValue: record.severityText } })
  const given = attributes.find((pair) => pair.key === 'event.name')?.value?.stringValue
  const time =
    record.timeUnixNano && record.timeUnixNano !== '0' ? record.timeUnixNano : record.observedTimeUnixNano
  return { timeUnixNano: time, name: record.eventName || given || 'log', attributes }
}
