/** Calls that must fail, and with what. */
import { FolioError } from '../../src/index.ts'

/** The code of the error that a call threw, with the parameter at fault. */
export async function codeOf(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    if (!(error instanceof FolioError)) throw error
    return error.code === 'BAD_REQUEST' ? `${error.code} ${error.fields['field']}` : error.code
  }
  return 'no error'
}

/** The error of a call that must fail. */
export async function errorOf(call: () => unknown): Promise<FolioError> {
  try {
    await call()
  } catch (error) {
    if (error instanceof FolioError) return error
    throw error
  }
  throw new Error('the call did not fail')
}
