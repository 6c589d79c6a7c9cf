/** What stores that keep their files in a directory have in common: its path, how it is made, and what the file system says about it. */
import { badRequest } from '../../src/check.ts'
import { FolioError } from '../../src/errors.ts'
import { fsPromises, ifThere } from './node.ts'
import { syncNames } from './sync.ts'

/**
 * The absolute path of a directory, so that the process may change its own later. On POSIX, `..` stays as it is: after a link it does not lead back.
 * @throws BAD_REQUEST if it is empty, or neither a path nor the URL of a file; STORE_DENIED if it is relative to a directory that is gone
 */
export function pathOf(location: string | URL): string {
  if (location === '') throw badRequest('location', 'the path of a directory', 'an empty one')
  if (typeof location === 'string') return absolute(location)
  const { fileURLToPath } = process.getBuiltinModule('node:url')
  try {
    return fileURLToPath(location)
  } catch {
    throw badRequest('location', 'the path of a directory, or its file: URL', location instanceof URL ? location.href : typeof location)
  }
}

function absolute(path: string): string {
  const { isAbsolute, resolve, sep } = process.getBuiltinModule('node:path')
  if (isAbsolute(path)) return path
  try {
    return sep === '/' && path.split('/').includes('..') ? `${process.cwd()}/${path}` : resolve(path)
  } catch (error) {
    throw denial(error as NodeJS.ErrnoException, path, error) ?? error
  }
}

/**
 * A directory whose name survives a loss of power. One step at a time: `recursive` never returns if a parent exists but takes no directories, as under
 * /proc.
 */
export async function makeDirectory(path: string): Promise<void> {
  const { mkdir } = fsPromises()
  const { dirname, resolve } = process.getBuiltinModule('node:path')
  const parent = dirname(resolve(path))
  const make = async (): Promise<void> => {
    try {
      await mkdir(path)
    } catch (error) {
      // Whoever makes the same one at the same time may be first, at every step, and may not have flushed its name yet.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    await syncNames(parent)
  }
  try {
    await make()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === resolve(path)) throw error
    await makeDirectory(parent)
    await make()
  }
}

/** A part of a file's name that nobody else gives to one, in whatever process, thread or copy of this package. */
export const ownName = (): string => `${process.pid}-${process.getBuiltinModule('node:crypto').randomUUID()}`

/** The names in a directory; none if it is not there. */
export const namesIn = async (directory: string): Promise<string[]> => (await ifThere(fsPromises().readdir(directory))) ?? []

/** The file without which a directory is not a database of its kind. */
const SIGNS = { LevelDB: 'CURRENT', LMDB: 'data.mdb' } as const

/** The kind of database to which the names of files belong; undefined if there is none. */
export const databaseAmong = (names: readonly string[]): keyof typeof SIGNS | undefined =>
  (['LevelDB', 'LMDB'] as const).find((kind) => names.includes(SIGNS[kind]))

/** @param own the kind of database that is to be made here. @throws STORE_MISSING if there is one of another kind */
export function refuseOther(names: readonly string[], own: keyof typeof SIGNS, location: string): void {
  const found = databaseAmong(names)
  if (found === undefined || found === own) return
  throw new FolioError('STORE_MISSING', { location, reason: `the directory holds a database of ${found}, not of ${own}` })
}

/** The last one is said by Node itself, run with `--permission`. */
const DENIED = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ERR_ACCESS_DENIED'])

/** What the file system says about a directory, as an error of ours; undefined if it says something else. */
export function denial(
  { code, message }: { readonly code?: string | undefined; readonly message: string },
  location: string,
  cause: unknown,
): FolioError | undefined {
  if (code === 'ENOTDIR') {
    const reason = 'this path, or one that it begins with, is a file and not a directory'
    return new FolioError('STORE_MISSING', { location, reason }, cause)
  }
  return DENIED.has(code ?? '') ? new FolioError('STORE_DENIED', { location, reason: message }, cause) : undefined
}
