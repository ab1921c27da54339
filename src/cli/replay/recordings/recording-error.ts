import { HookspanError } from '../../../internal/errors.ts'
import { shown } from '../../render/shown.ts'

export interface RecordingPlace {
  /** The file, as it was named. */
  source: string
  /** Position of the run in the file, from 0. */
  run?: number
  /** Position of the message in the run, from 0. */
  message?: number
}

/** A recording that cannot be replayed. The message names the place and the mend. */
export class RecordingError extends HookspanError {
  override readonly name: string = 'RecordingError'
  readonly place: RecordingPlace

  constructor(place: RecordingPlace, problem: string, options?: ErrorOptions) {
    super('INVALID_RECORDING', `${describePlace(place)}: ${problem}`, options)
    this.place = place
  }
}

function describePlace({ source, run, message }: RecordingPlace): string {
  return [
    shown(source),
    run === undefined ? '' : `run ${run}`,
    message === undefined ? '' : `message ${message}`,
  ]
    .filter(Boolean)
    .join(', ')
}
