/** Assets, of trades, offers and filters alike: what they must be, and the text by which they are told apart. */
import { invalidInput } from '../errors.ts'
import type { Spot } from './encode.ts'

/** An asset: `native`, or a code and its issuer. */
export type Asset =
  | { readonly type: 'native' }
  | { readonly type: 'credit_alphanum4' | 'credit_alphanum12'; readonly code: string; readonly issuer: string }

/** The type is part of it: `USD` as credit_alphanum12 is a different asset from `USD` as credit_alphanum4. */
export const assetText = (type: unknown, code: unknown, issuer: unknown): string =>
  type === 'native' ? 'native' : `${type}:${code}:${issuer}`

/** What is wrong with an asset, if anything: the part at fault and what it must be. */
export function assetProblem(
  type: unknown,
  code: unknown,
  issuer: unknown,
): { member: 'type' | 'code' | 'issuer'; reason: string } | undefined {
  if (type === 'native') return undefined
  if (type !== 'credit_alphanum4' && type !== 'credit_alphanum12')
    return { member: 'type', reason: 'native, credit_alphanum4 or credit_alphanum12' }
  const longest = type === 'credit_alphanum4' ? 4 : 12
  if (typeof code !== 'string' || !isCode(code, longest)) return { member: 'code', reason: `a code of 1 to ${longest} letters or digits` }
  if (typeof issuer !== 'string' || issuer === '') return { member: 'issuer', reason: 'the account id of the issuer' }
  return undefined
}

/** Spelled out, since a regular expression takes longer for a few letters. */
function isCode(code: string, longest: number): boolean {
  const { length } = code
  if (length === 0 || length > longest) return false
  for (let at = 0; at < length; at++) {
    const letter = code.charCodeAt(at)
    const isLetter = (letter >= 65 && letter <= 90) || (letter >= 97 && letter <= 122)
    if (!isLetter && (letter < 48 || letter > 57)) return false
  }
  return true
}

/**
 * Checks the asset of a record. A native one is its type alone: a code or an issuer beside it would make it unclear which asset is meant.
 * @param path what the paths of its members begin with, from the record
 * @throws INVALID_INPUT
 */
export function checkAsset(type: unknown, code: unknown, issuer: unknown, spot: Spot, path: string): void {
  const problem = assetProblem(type, code, issuer) ?? (type === 'native' ? problemBeside(code, issuer) : undefined)
  if (problem) throw invalidInput(spot.ledger, spot.path(`${path}asset_${problem.member}`), problem.reason)
}

const problemBeside = (code: unknown, issuer: unknown): { member: 'code' | 'issuer'; reason: string } | undefined =>
  code === undefined && issuer === undefined
    ? undefined
    : { member: code === undefined ? 'issuer' : 'code', reason: 'nothing: a native asset has neither code nor issuer' }
