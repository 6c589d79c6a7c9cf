/** The types as shipped, in a consumer's compiler: after `npm run build`, `node --test test/release/*.test.js`. */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const here = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const { exports } = JSON.parse(readFileSync(here('package.json'), 'utf8'))
const ways = Object.keys(exports).filter((way) => !way.endsWith('.json'))
const examples = readdirSync(here('examples')).filter((name) => name.endsWith('.ts'))

/** Imports of every way in, as a file that does not exist: the package is found by its own name. */
const EVERY = here('examples/every.ts')
const importing = (some) => some.map((way, n) => `import * as way${n} from 'ledger-folio${way.slice(1)}'\nvoid way${n}\n`).join('')

/** A program of a file of imports, and of examples. */
function programOf(options, every = importing(ways), others = []) {
  const settings = {
    target: ts.ScriptTarget.ES2023,
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: ['node'],
    ...options,
  }
  const host = ts.createCompilerHost(settings)
  const { fileExists, getSourceFile } = host
  host.fileExists = (path) => path === EVERY || fileExists(path)
  host.getSourceFile = (path, target, ...rest) =>
    path === EVERY ? ts.createSourceFile(path, every, target) : getSourceFile(path, target, ...rest)
  return ts.createProgram([EVERY, ...others.map((name) => here(`examples/${name}`))], settings, host)
}

const byNode = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext }

/** What the compiler says about the examples and about every import, and the files of this repository that it read. */
function compile(options, every = importing(ways), others = examples) {
  const program = programOf(options, every, others)
  // Not the files of others, which take most of the time.
  const own = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(here('')) && !fileName.includes('/node_modules/'))
  const found = [...program.getOptionsDiagnostics(), ...own.flatMap((file) => program.getSemanticDiagnostics(file))]
  const said = found.map(({ messageText, file }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`)
  return { said, own: own.map(({ fileName }) => fileName) }
}

describe('the examples and an import of every way compile against what is built', () => {
  for (const [name, options] of [
    ['by the rules of Node', byNode],
    ['by those of bundlers', { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }],
  ])
    test(name, () => {
      const { said, own } = compile(options)
      assert.deepEqual(said, [])
      assert.ok(own.some((path) => path.endsWith('/dist/index.d.ts')))
      assert.deepEqual(
        own.filter((path) => !/\/(dist|examples)\//.test(path)),
        [],
      )
    })
})

test('what is declared as a value is one, in every way in', async () => {
  const program = programOf(byNode)
  const checker = program.getTypeChecker()
  const named = program.getSourceFile(EVERY).statements.filter(ts.isImportDeclaration)
  assert.equal(named.length, ways.length)
  for (const [n, way] of ways.entries()) {
    // The properties of a namespace are its values; what is exported by `export type` is none of them.
    const type = checker.getTypeAtLocation(named[n].importClause.namedBindings.name)
    const declared = checker.getPropertiesOfType(type).map(({ name }) => name)
    const made = Object.keys(await import(`ledger-folio${way.slice(1)}`))
    assert.ok(made.length > 0)
    assert.deepEqual(declared.sort(), made.sort(), way)
  }
})

const said = (found) => found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))

test('whatever is exported, and what its members are and give, may be part of what another package exports', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'ledger-folio-'))
  try {
    for (const what of ['dist', 'package.json']) cpSync(here(what), join(dir, 'node_modules/ledger-folio', what), { recursive: true })
    symlinkSync(here('node_modules/@types'), join(dir, 'node_modules/@types'))
    const names = await Promise.all(ways.map(async (way) => Object.keys(await import(`ledger-folio${way.slice(1)}`))))
    const all = names.flatMap((some, n) => some.filter((name) => name !== 'default').map((name) => [`${name}${n}`, `way${n}.${name}`]))
    const more = [
      ['rows', 'Object.values(way0.catalogue)'],
      ...['account', 'trades', 'offersOfAccount'].map((row) => [row, `way0.catalogue.${row}`]),
      ['page', 'async (ledger: way0.Ledger) => ledger.page(way0.catalogue.trades, {})'],
      ['disk', `way${ways.indexOf('./memory')}.memoryDisk()`],
    ]
    const path = join(dir, 'every.ts')
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
    const text = [...all, ...more].map(([name, value]) => `export const ${name} = ${value}\n`)
    writeFileSync(path, importing(ways) + text.join(''))
    const settings = {
      ...byNode,
      target: ts.ScriptTarget.ES2023,
      strict: true,
      declaration: true,
      outDir: dir,
      types: ['node'],
      skipLibCheck: true,
    }
    const program = ts.createProgram([path], settings)
    const found = [...program.getOptionsDiagnostics(), ...program.getSemanticDiagnostics(), ...program.getDeclarationDiagnostics()]
    assert.deepEqual(said(found), [])
    assert.ok(all.length > 60, `${all.length} values`)
    const members = givers(program)
    assert.ok(members.length > 1000, `${members.length} members`)
    writeFileSync(path, importing(ways) + members.join(''))
    assert.deepEqual(said(ts.createProgram([path], settings).getDeclarationDiagnostics()), [])
  } finally {
    rmSync(dir, { recursive: true })
  }
})

/** For each exported type, functions that give its members; for each exported function and type of functions, one that gives what it gives. */
function givers(program) {
  const checker = program.getTypeChecker()
  const found = []
  const give = (given, what) => found.push(`export const given${found.length} = (${given}) => ${what}\n`)
  const [path] = program.getRootFileNames()
  const imports = program.getSourceFile(path).statements.filter(ts.isImportDeclaration)
  for (const [n, { moduleSpecifier }] of imports.entries())
    for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(moduleSpecifier))) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const name = `way${n}.${exported.name}`
      if (symbol.flags & ts.SymbolFlags.Type) {
        const parameters = symbol.declarations.flatMap(({ typeParameters = [] }) => typeParameters).filter((one) => !one.default)
        const type = parameters.length > 0 ? `${name}<${parameters.map(() => 'any')}>` : name
        const declared = checker.getDeclaredTypeOfSymbol(symbol)
        for (const { name: member, declarations = [] } of checker.getPropertiesOfType(declared))
          if (
            !member.startsWith('__') &&
            !declarations.some((one) => ts.getCombinedModifierFlags(one) & ts.ModifierFlags.NonPublicAccessibilityModifier)
          )
            give(`one: ${type}`, `one[${JSON.stringify(member)}]`)
        if (declared.getCallSignatures().length > 0) give(`one: ${type}, ...taken: Parameters<${type}>`, 'one(...taken)')
      }
      if (
        symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Variable) &&
        checker.getTypeOfSymbol(symbol).getCallSignatures().length > 0
      )
        give(`...taken: Parameters<typeof ${name}>`, `${name}(...taken)`)
    }
  return found
}

test('every way in compiles to CommonJS, with the resolution of modules that goes with it', () => {
  const { said, own } = compile({ module: ts.ModuleKind.CommonJS }, importing(ways), [])
  assert.deepEqual(said, [])
  assert.ok(own.some((path) => path.endsWith('/dist/http.d.ts')))
})

test('what runs in a browser compiles there, without the types of Node', () => {
  const { ESNext } = ts.ModuleKind
  const { Bundler } = ts.ModuleResolutionKind
  const options = { module: ESNext, moduleResolution: Bundler, types: [], lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'] }
  const { said, own } = compile(options, importing(['.', './memory']), [])
  assert.deepEqual(said, [])
  assert.ok(own.some((path) => path.endsWith('/dist/memory.d.ts')))
})
