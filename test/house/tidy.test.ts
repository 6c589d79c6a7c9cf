/** The rules of the house: who may import whom, that each file says what it is, that none grows too long. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** A file imports only from its own room and from rooms before it. */
const ROOMS =
  'bytes sha256 turn errors check json text store position tuple params query resources logs catalogue layout cache scan stream ingest audit options ledger open index'.split(
    ' ',
  )
/** What store adapters and their laws need, without the engine. */
const CONTRACT = ['src/bytes.ts', 'src/turn.ts', 'src/errors.ts', 'src/check.ts', 'src/store.ts']
const LONGEST = 250
/** Longer for a reason. */
const LONG: Record<string, string> = {}
/** Lines that are neither empty nor comment. */
const codeLines = (text: string): number =>
  text.split('\n').filter((line) => line.trim() !== '' && !/^\s*(?:\/\*|\*|\/\/)/.test(line)).length

interface File {
  readonly path: string
  readonly text: string
  /** Repository paths of relative imports. */
  readonly imports: readonly string[]
  /** Those that exist at run time: types may refer to each other. */
  readonly values: readonly string[]
}

const filesIn = (folder: string): File[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const path = join(folder, name)
      const text = readFileSync(join(ROOT, path), 'utf8')
      const found = Array.from(
        text.matchAll(/^(?:import|export|\}) ?[^'\n]*from '(\.[^']+)'|^import '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm),
      )
      const named = found.map(([, a, b, c]) => (a ?? b ?? c)!)
      const pathOf = (name: string): string => relative(ROOT, join(ROOT, dirname(path), name))
      const ofTypes = (name: string): boolean =>
        !new RegExp(`^(?:import|export)(?! type\\b)[^']*?'${name.replaceAll('.', '\\.')}'`, 'm').test(text)
      return { path, text, imports: named.map(pathOf), values: named.filter((name) => !ofTypes(name)).map(pathOf) }
    })

const src = filesIn('src')
const adapters = filesIn('adapters')
const all = [...src, ...adapters, ...filesIn('test')]
const roomOf = (path: string): string => path.split('/')[1]!.replace(/\.ts$/, '')

describe('imports go upwards', () => {
  test('every file of src lies in a room', () => {
    expect(src.map(({ path }) => roomOf(path)).filter((room) => !ROOMS.includes(room))).toEqual([])
  })

  test('src imports no adapter, and nothing from rooms below', () => {
    const wrong = src.flatMap(({ path, imports }) =>
      imports
        .filter((to) => !to.startsWith('src/') || ROOMS.indexOf(roomOf(to)) > ROOMS.indexOf(roomOf(path)))
        .map((to) => `${path} imports ${to}`),
    )
    expect(wrong).toEqual([])
  })

  test('an adapter imports the engine through its door, another adapter through its own', () => {
    const contract = ['directory', 'memory', 'level', 'lmdb', 'testing']
    const wrong = adapters.flatMap(({ path, imports }) =>
      imports
        .filter((to) => {
          if (to.startsWith('src/')) return to !== 'src/index.ts' && !(contract.includes(roomOf(path)) && CONTRACT.includes(to))
          if (!to.startsWith('adapters/')) return to !== 'package.json'
          return roomOf(to) !== roomOf(path) && to !== `adapters/${roomOf(to)}/index.ts`
        })
        .map((to) => `${path} imports ${to}`),
    )
    expect(wrong).toEqual([])
  })

  test('the core of the HTTP adapter knows nothing of node:http, nor of what serves it there', () => {
    const core = adapters.filter(({ path }) => path.startsWith('adapters/http/') && !path.startsWith('adapters/http/node/'))
    const wrong = core.filter(({ path, text, imports }) => {
      const isDoor = path === 'adapters/http/index.ts'
      return /(?:from |import |import\()'node:/.test(text) || (!isDoor && imports.some((to) => to.startsWith('adapters/http/node/')))
    })
    expect(wrong.map(({ path }) => path)).toEqual([])
  })

  test('the layout alone seals values and sees what is in them', () => {
    const inside = /^import [^']*\b(?:seal|unseal|payloadOf|leaveRoom|SEAL_BYTES)\b[^']*from '[^'\n]*layout\/seal\.ts'/m
    const wrong = src.filter(({ path, text }) => !path.startsWith('src/layout/') && inside.test(text))
    expect(wrong.map(({ path }) => path)).toEqual([])
  })

  test('no two files import each other, however indirectly', () => {
    const importsOf = new Map([...src, ...adapters].map(({ path, values }) => [path, values]))
    const loops: string[] = []
    const done = new Set<string>()
    const visit = (path: string, way: readonly string[]): void => {
      if (way.includes(path)) loops.push([...way.slice(way.indexOf(path)), path].join(' → '))
      if (done.has(path) || way.includes(path)) return
      for (const to of importsOf.get(path) ?? []) visit(to, [...way, path])
      done.add(path)
    }
    for (const path of importsOf.keys()) visit(path, [])
    expect(loops).toEqual([])
  })
})

describe('every file', () => {
  test('of src and the adapters opens by saying what it is', () => {
    const silent = [...src, ...adapters].filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text))
    expect(silent.map(({ path }) => path)).toEqual([])
  })

  test(`has at most ${LONGEST} lines of code, except for those listed`, () => {
    const lines = new Map([...src, ...adapters].map(({ path, text }) => [path, codeLines(text)]))
    const long = [...lines].filter(([, count]) => count > LONGEST).map(([path, count]) => `${path}: ${count}`)
    expect(long.filter((line) => !(line.split(':')[0]! in LONG))).toEqual([])
  })

  test('of src writes nothing to the console', () => {
    expect(src.filter(({ text }) => /\bconsole\s*\./.test(text)).map(({ path }) => path)).toEqual([])
  })

  test('of src is used: another file imports it, or it is the door', () => {
    const imported = new Set(all.flatMap(({ path, imports }) => (path.startsWith('test/') ? [] : imports)))
    expect(src.map(({ path }) => path).filter((path) => path !== 'src/index.ts' && !imported.has(path))).toEqual([])
  })
})

test('the map of the test room names each of its folders, and each file that several of them share', () => {
  const named = Array.from(readFileSync(join(ROOT, 'test/README.md'), 'utf8').matchAll(/^\| `([\w.-]+)` +\|/gm), ([, name]) => name!)
  const there = ['test', 'test/support'].flatMap((folder) => {
    // An empty folder is what a checkout leaves of one that moved.
    const entries = readdirSync(join(ROOT, folder), { withFileTypes: true })
    return entries.filter((one) => one.isFile() || readdirSync(join(ROOT, folder, one.name)).length > 0).map(({ name }) => name)
  })
  expect(named.sort()).toEqual(there.filter((name) => !['README.md', 'support'].includes(name)).sort())
})
