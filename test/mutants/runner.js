/**
 * Runs tests for `npm run mutate`, in one process and without starting anything per fault: test files are bundled once with the sources that faults
 * are planted in, and loaded afresh for each fault, so that none sees what another left behind. That takes milliseconds, while restarting a test
 * runner takes a second. It knows as much of vitest as the tests of the engine use, and `expect` is vitest's own.
 */
import { readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as passed } from 'node:timers/promises'
import { format } from 'node:util'
import { constants, Script } from 'node:vm'
import { commonTokens, declareFactoryPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin'
import { DryRunStatus, determineHitLimitReached, TestStatus, toMutantRunResult } from '@stryker-mutator/api/test-runner'
import fc from 'fast-check'
import { build } from 'tsup'
import * as vitest from 'vitest'

/** The tests to try, by path. */
const { MUTATE_TESTS = '', WHOLE_FILES, FC_SEED = '7', FC_RUNS = '8' } = process.env
Object.assign(process.env, { FC_SEED, FC_RUNS, NODE_ENV: 'test' })
/** How long a test may wait for what does not come, in milliseconds, beyond three times what it took without faults. */
const PATIENCE = 2_000

/** What is being collected. */
let file
let suite

const newSuite = (name, parent) => ({ name, parent, skip: parent?.skip ?? false, before: [], after: [], beforeEach: [], afterEach: [] })

function collectSuite(name, fill, { skip = false } = {}) {
  suite = newSuite(name, suite)
  suite.skip ||= skip
  fill()
  suite = suite.parent
}

/** Options may come before or after the body. */
function collectTest(name, a, b) {
  const [run, options = {}] = typeof a === 'function' ? [a, b] : [b, a]
  file.tests.push({ name, run, suite, skip: suite.skip || (typeof options === 'object' && !!options.skip) })
}

const titled = (title, row, at) => {
  const named =
    row !== null && typeof row === 'object' && !Array.isArray(row)
      ? title.replace(/\$(\w+)/g, (whole, name) => (name in row ? String(row[name]) : whole))
      : title
  // What a title does not ask for is left out of it: bytes that are not written yet differ each time a file is loaded.
  const asked = named.match(/%[sdifjoO]/g)?.length ?? 0
  return format(named.replaceAll('%#', String(at)).replaceAll('%$', String(at + 1)), ...(Array.isArray(row) ? row : [row]).slice(0, asked))
}

/** `test` or `describe`, with its forms. */
function forms(collect) {
  const spread = (rows) => (title, run, options) => {
    for (const [at, row] of rows.entries())
      collect(titled(title, row, at), (...context) => (Array.isArray(row) ? run(...row) : run(row, ...context)), options)
  }
  const skipped = (name, run) => collect(name, run, { skip: true })
  return Object.assign(collect.bind(undefined), {
    each: spread,
    for: (rows) => (title, run, options) => {
      for (const [at, row] of rows.entries()) collect(titled(title, row, at), () => run(row, context), options)
    },
    skip: skipped,
    skipIf: (condition) => (condition ? skipped : api.test),
    runIf: (condition) => (condition ? api.test : skipped),
  })
}

/** Assertions that are tried again until they hold: vitest's own ask a worker of vitest for the time. */
function poll(value, { interval = 50, timeout = 1_000 } = {}) {
  const tried = async (assert) => {
    for (const start = performance.now(); ; await passed(interval))
      try {
        return assert(vitest.expect(await value()))
      } catch (error) {
        if (performance.now() - start > timeout) throw error
      }
  }
  const assertions = (of) =>
    new Proxy(
      {},
      { get: (_, name) => (name === 'not' ? assertions((one) => of(one).not) : (...values) => tried((one) => of(one)[name](...values))) },
    )
  return assertions((one) => one)
}

class Skipped extends Error {}
/** What a test is given. */
const context = {
  skip: (why) => {
    throw new Skipped(why)
  },
}

let finished = []
/** In place of a test's id, while what precedes all tests of a suite is running. */
const BEFORE = 'before '
const api = {
  test: forms(collectTest),
  describe: forms(collectSuite),
  expect: new Proxy(vitest.expect, { get: (expect, name) => (name === 'poll' ? poll : expect[name]) }),
  vi: vitest.vi,
  beforeAll: (run) => suite.before.push(run),
  afterAll: (run) => suite.after.push(run),
  beforeEach: (run) => suite.beforeEach.push(run),
  afterEach: (run) => suite.afterEach.push(run),
  onTestFinished: (run) => finished.push(run),
}
api.it = api.test
globalThis.underMutation = api

const chain = (from) => (from ? [...chain(from.parent), from] : [])

class Late extends Error {}

async function within(run, patience) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Late(`not done within ${patience} ms`)), patience)
  })
  try {
    return await Promise.race([(async () => run())(), late])
  } finally {
    clearTimeout(timer)
  }
}

class Runner {
  static inject = tokens(commonTokens.options, 'namespace')

  constructor(_, namespace) {
    globalThis[namespace] ??= {}
    this.state = globalThis[namespace]
    this.times = new Map()
  }

  capabilities() {
    return { reloadEnvironment: true }
  }

  async init() {
    // Shrinking would find nicer counterexamples, which nobody reads.
    fc.configureGlobal({ seed: Number(FC_SEED), endOnFailure: true })
    // What a fault breaks outside a test is seen by a test, or not at all.
    for (const event of ['unhandledRejection', 'uncaughtException']) process.on(event, () => {})
    this.files = MUTATE_TESTS.split(' ').filter(Boolean)
    if (this.files.length === 0) throw new Error('MUTATE_TESTS names the test files to try, with blanks between them')
    this.out = join(process.cwd(), '.mutants')
    // If a process was ended for a fault that does not end, the next one finds all of this done.
    const times = await readFile(join(this.out, 'times.json'), 'utf8').catch(() => '')
    if (times === '') await this.bundle()
    else this.times = new Map(JSON.parse(times))
    this.compile()
  }

  async bundle() {
    await mkdir(this.out, { recursive: true })
    await writeFile(join(this.out, 'vitest.mjs'), `export const { ${Object.keys(api).join(', ')} } = globalThis.underMutation\n`)
    const shim = {
      name: 'vitest',
      setup: ({ onResolve }) => {
        onResolve({ filter: /^vitest$/ }, () => ({ path: join(this.out, 'vitest.mjs') }))
        // Installed packages stay outside, and are loaded once.
        onResolve({ filter: /^[a-z@]/ }, ({ path, kind }) =>
          kind === 'entry-point' || path.startsWith('ledger-folio') ? undefined : { path, external: true },
        )
      },
    }
    await build({
      config: false,
      silent: true,
      entry: Object.fromEntries(this.files.map((path, at) => [`${at}`, join(process.cwd(), path)])),
      outDir: this.out,
      outExtension: () => ({ js: '.cjs' }),
      format: 'cjs',
      target: 'node20',
      platform: 'node',
      splitting: false,
      clean: false,
      shims: true,
      esbuildPlugins: [shim],
    })
  }

  compile() {
    const require = createRequire(join(this.out, 'here.cjs'))
    this.loads = new Map()
    for (const [at, path] of this.files.entries()) {
      const filename = join(this.out, `${at}.cjs`)
      const code = readFileSync(filename, 'utf8')
      // Compiled once: loading a file again means calling it again.
      const script = new Script(`(function (require, module, exports, __filename, __dirname) {${code}\n})`, {
        filename,
        importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      })
      const name = join(process.cwd(), path)
      this.loads.set(path, () => {
        const module = { exports: {} }
        script.runInThisContext()(require, module, module.exports, name, dirname(name))
      })
    }
  }

  async dryRun() {
    this.state.activeMutant = undefined
    this.state.mutantCoverage = undefined
    const tests = await this.run(this.files, () => true, false)
    if (tests.late) throw new Error(`a test did not end without faults: ${tests.late}`)
    this.times = new Map(tests.results.map(({ id, timeSpentMs }) => [id, timeSpentMs]))
    await writeFile(join(this.out, 'times.json'), JSON.stringify([...this.times]))
    return { status: DryRunStatus.Complete, tests: tests.results, mutantCoverage: this.state.mutantCoverage }
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation, disableBail }) {
    const { state } = this
    state.hitCount = 0
    state.hitLimit = hitLimit
    const wanted = testFilter && new Set(testFilter)
    // Those that were quick in the dry run come first: most faults are seen by one of them.
    const cost = new Map()
    for (const id of testFilter ?? []) {
      const path = id.slice(0, id.indexOf('#'))
      cost.set(path, (cost.get(path) ?? 0) + (this.times.get(id) ?? 0))
    }
    const files = wanted ? [...cost.keys()].sort((a, b) => cost.get(a) - cost.get(b)) : this.files
    const { results, late } = await this.run(
      files,
      // What is made once and kept is covered by one test only, though others see it.
      (id) => !wanted || WHOLE_FILES || wanted.has(id),
      !disableBail,
      (when) => {
        state.activeMutant = when === 'run' || mutantActivation === 'static' ? activeMutant.id : undefined
      },
    )
    if (late) return toMutantRunResult({ status: DryRunStatus.Timeout, reason: late })
    return toMutantRunResult(determineHitLimitReached(state.hitCount, hitLimit) ?? { status: DryRunStatus.Complete, tests: results })
  }

  /** What was done before all tests of a suite counts for each of them. */
  credit(from, to) {
    const { perTest } = this.state.mutantCoverage ?? {}
    if (!perTest?.[from]) return
    for (const { id } of to) {
      perTest[id] ??= {}
      for (const [mutant, count] of Object.entries(perTest[from])) perTest[id][mutant] = (perTest[id][mutant] ?? 0) + count
    }
    delete perTest[from]
  }

  async run(files, wanted, bail, activate = () => {}) {
    const results = []
    for (const path of files) {
      activate('load')
      file = { tests: [] }
      suite = newSuite('')
      try {
        this.loads.get(path)()
      } catch (error) {
        results.push({ id: `${path}#load`, name: 'load', status: TestStatus.Failed, failureMessage: String(error), timeSpentMs: 0 })
        return { results }
      }
      activate('run')
      const tests = file.tests
      const counts = new Map()
      for (const test of tests) {
        const name = [...chain(test.suite).map((one) => one.name), test.name].filter(Boolean).join(' ')
        const count = (counts.get(name) ?? 0) + 1
        counts.set(name, count)
        test.id = `${path}#${name}${count > 1 ? ` (${count})` : ''}`
      }
      const chosen = tests.filter((test) => !test.skip && wanted(test.id))
      const begun = new Set()
      const limit = (test) => PATIENCE + 3 * (this.times.get(test.id) ?? 10 * PATIENCE)
      let stop = false
      for (const test of chosen) {
        if (stop) break
        const start = performance.now()
        const result = { id: test.id, name: test.id, fileName: join(process.cwd(), path), status: TestStatus.Success }
        const suites = chain(test.suite)
        const patience = limit(test)
        try {
          for (const one of suites)
            if (!begun.has(one)) {
              begun.add(one)
              this.state.currentTestId = BEFORE + begun.size
              for (const run of one.before) await within(run, patience)
              this.credit(
                BEFORE + begun.size,
                chosen.filter((other) => chain(other.suite).includes(one)),
              )
            }
          this.state.currentTestId = test.id
          finished = []
          try {
            for (const one of suites) for (const run of one.beforeEach) await within(run, patience)
            await within(() => test.run(context), patience)
          } finally {
            for (const one of suites.toReversed()) for (const run of one.afterEach) await within(run, patience)
            for (const run of finished) await within(run, patience)
          }
        } catch (error) {
          if (error instanceof Late) return { results, late: error.message }
          if (error instanceof Skipped) result.status = TestStatus.Skipped
          else {
            result.status = TestStatus.Failed
            result.failureMessage = String(error?.stack ?? error).slice(0, 2000)
            stop = bail
          }
        }
        // What a test that failed left in place of something else would fail every test from then on.
        vitest.vi.restoreAllMocks()
        this.state.currentTestId = undefined
        results.push({ ...result, timeSpentMs: performance.now() - start })
      }
      for (const one of begun)
        for (const run of one.after)
          try {
            await within(run, 10 * PATIENCE)
          } catch {
            // What a fault left behind may not be fit to be tidied up.
          }
      if (stop) break
    }
    return { results }
  }
}

const create = Object.assign((injector) => injector.provideValue('namespace', '__stryker__').injectClass(Runner), {
  inject: tokens(commonTokens.injector),
})

export const strykerPlugins = [declareFactoryPlugin(PluginKind.TestRunner, 'folio', create)]
