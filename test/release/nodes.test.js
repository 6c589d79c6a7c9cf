/**
 * The package as shipped, on other releases of Node than the one that runs the tests: after `npm run build`, `node --test test/release/*.test.js`.
 * `NODES=22,24,26` says on which; by default on the oldest that `engines` admits, since what they lack is not noticed elsewhere, and on the newest,
 * since most users run that, and its `node:http` has once come to behave otherwise.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { engines } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const oldest = engines.node.match(/[\d.]+/g).map((release) => `${release}.0`)
const releases = process.env.NODES?.split(',') ?? [...oldest, '26']

const smoke = fileURLToPath(new URL('smoke.js', import.meta.url))

/** The program of a release, which is installed beside the other packages; undefined where there is none for this platform. */
function nodeOf(release) {
  const name = `node-${process.platform}-${process.arch}`
  const directory = `${root}node_modules/.cache/nodes/${release}`
  const program = `${directory}/node_modules/${name}/bin/node`
  if (existsSync(program)) return program
  mkdirSync(directory, { recursive: true })
  writeFileSync(`${directory}/package.json`, '{ "private": true }')
  const { status } = spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${release}`], { cwd: directory })
  return status === 0 && existsSync(program) ? program : undefined
}

const works = (program) => {
  const { status, stdout, stderr } = spawnSync(program, [smoke], { cwd: root, encoding: 'utf8', timeout: 120_000 })
  assert.equal(status, 0, stderr)
  return stdout.trim()
}

test('the package works on the Node that runs this', () => assert.equal(works(process.execPath), process.version))

for (const release of releases)
  test(`the package works on Node ${release}`, (context) => {
    const program = nodeOf(release)
    if (program === undefined) context.skip(`Node ${release} cannot be installed for ${process.platform}-${process.arch}`)
    else assert.match(works(program), new RegExp(`^v${release}(\\.|$)`))
  })
