import { HookspanError } from '../../internal/errors.ts'

/** The script is wrong in itself (`INVALID_OPTION`), or what happened is not what it says. */
export class ScriptError extends HookspanError {
  override readonly name: string = 'ScriptError'

  constructor(code: 'INVALID_OPTION' | 'SCRIPT_NOT_FOLLOWED', message: string, options?: ErrorOptions) {
    super(code, message, options)
  }
}
