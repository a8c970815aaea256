// node npm-lock.cjs MODULES PORT NAME COMMAND [ARG]...
// The same lock through the npm package redlock, in the way its documentation shows.
'use strict';

const { spawn } = require('node:child_process');
const { createRequire } = require('node:module');

const [modules, port, name, command, ...args] = process.argv.slice(2);
const load = createRequire(modules + '/');
const Redis = load('ioredis');
const Redlock = load('redlock');

function run() {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit' });
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

async function main() {
  const client = new Redis({ host: '127.0.0.1', port: Number(port) });
  const redlock = new Redlock([client], { retryCount: 0 });
  try {
    const lock = await redlock.lock(name, 30000);
    process.exitCode = await run();
    await lock.unlock();
  } finally {
    client.disconnect();
  }
}

main().catch((error) => {
  console.error(`npm-lock: ${error.message}`);
  process.exitCode = 75;
});
