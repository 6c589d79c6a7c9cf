/**
 * Exchanges the files of a LevelDB directory for those of a new database that was built in a directory within it. All is done by renaming within the
 * directory, so it may be a mount point, and its LOCK stays.
 *
 * **Invariant:** up to the renaming to `ready`, the files are the old ones, and untouched. From then on until the last step, there is a directory
 * `ready` or `taken`, for which opening is refused: a kill leaves a state that {@link finishExchange} completes. Old files are never overwritten or
 * deleted: they are kept in a directory of their own.
 */
import { fsPromises, ifThere, NOTE, namesIn, syncFile, syncNames } from '../directory/index.ts'
import { isDatabaseFile } from './names.ts'

/** In the directory of the new database, and at last in that of the old files. */
const REPORT = 'report.json'

/** Where a new database is built. Nothing there counts until {@link exchange} is called. */
export const buildingIn = (directory: string): string => `${directory}/salvage/building`

/** Removes what is left of an attempt that did not come as far as the exchange. */
export const discardBuilding = (directory: string): Promise<void> => removeAll(`${directory}/salvage`)

/** True if an exchange has begun and was not completed. */
export async function isExchanging(directory: string): Promise<boolean> {
  const names = await namesIn(`${directory}/salvage`)
  return names.includes('ready') || names.includes('taken')
}

/** What is told of an exchange; {@link finishExchange} tells it to whoever completes it. */
interface Told {
  /** The directory in which the old files are kept. */
  readonly kept: string
}

/** Puts the database that was built in the place of the old one. @param told what is to be said of it, even if another attempt completes it */
export async function exchange<T extends Told>(directory: string, told: Omit<T, 'kept'>): Promise<T> {
  const [work, building] = [`${directory}/salvage`, buildingIn(directory)]
  const kept = await makeKept(directory)
  await fsPromises().writeFile(`${building}/${REPORT}`, JSON.stringify({ ...told, kept }))
  for (const name of await fsPromises().readdir(building)) await syncFile(`${building}/${name}`)
  for (const path of [building, directory]) await syncNames(path)
  await fsPromises().rename(building, `${work}/ready`)
  await syncNames(work)
  return (await finishExchange<T>(directory))!
}

/** Completes an exchange that has begun. @returns what was told of it; undefined if none has begun, or only its last traces were left */
export async function finishExchange<T extends Told>(directory: string): Promise<T | undefined> {
  if (!(await isExchanging(directory))) return undefined
  const [work, ready, taken] = ['', '/ready', '/taken'].map((name) => `${directory}/salvage${name}`) as [string, string, string]
  const isBegun = (await namesIn(work)).includes('ready')
  const told = await readTold<T>(`${isBegun ? ready : taken}/${REPORT}`)
  if (told) {
    const kept = `${directory}/${told.kept}`
    if (isBegun) {
      await copyNote(directory, kept)
      await move(directory, kept)
      await fsPromises().rename(ready, taken)
      await syncNames(work)
    }
    await move(taken, directory, 'CURRENT last')
    await fsPromises().rename(`${taken}/${REPORT}`, `${kept}/${REPORT}`)
    await syncNames(kept)
  }
  // Without what was told, everything else has been done.
  await removeAll(work)
  return told && { ...told, kept: `${directory}/${told.kept}` }
}

/** The note stays, and is kept as it was with the files that it was written beside. */
const copyNote = (directory: string, kept: string): Promise<void> =>
  ifThere(fsPromises().copyFile(`${directory}/${NOTE}`, `${kept}/${NOTE}`))

async function readTold<T>(path: string): Promise<T | undefined> {
  const told = await ifThere(fsPromises().readFile(path, 'utf8'))
  return told === undefined ? undefined : JSON.parse(told)
}

/** Without CURRENT nothing is a database: it leaves first, and arrives when everything else is there. */
async function move(from: string, to: string, order: 'CURRENT first' | 'CURRENT last' = 'CURRENT first'): Promise<void> {
  const names = (await fsPromises().readdir(from)).filter(isDatabaseFile)
  const rest = names.filter((name) => name !== 'CURRENT')
  const current = names.filter((name) => name === 'CURRENT')
  for (const part of order === 'CURRENT first' ? [current, rest] : [rest, current]) {
    for (const name of part) await fsPromises().rename(`${from}/${name}`, `${to}/${name}`)
    for (const path of [to, from]) await syncNames(path)
  }
}

/** A new directory for the old files, numbered from 1; one that an earlier attempt left empty is used. */
async function makeKept(directory: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = `damaged-${number}`
    const path = `${directory}/${name}`
    await fsPromises()
      .rmdir(path)
      .catch(() => {})
    try {
      await fsPromises().mkdir(path)
      return name
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

const removeAll = (path: string): Promise<void> => fsPromises().rm(path, { recursive: true, force: true })
