// Queues jobs that do nothing, or works them off: node graphile.cjs MODULES URL queue COUNT | work
const [modules, connectionString, task, count] = process.argv.slice(2);
const { Logger, makeWorkerUtils, run } = require(require.resolve("graphile-worker", { paths: [modules] }));
const logger = new Logger(() => () => {});

async function queue() {
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  await utils.withPgClient((client) =>
    client.query(
      "SELECT graphile_worker.add_job('noop', json_build_object('row', n)) FROM generate_series(1, $1::int) n",
      [count],
    ),
  );
  await utils.withPgClient((client) => client.query("VACUUM ANALYZE"));
  await utils.release();
}

async function work() {
  console.log("ready");
  await new Promise((go) => process.stdin.once("data", go));
  const worker = {
    connectionString,
    logger,
    concurrentJobs: 24,
    maxPoolSize: 10,
    pollInterval: 500,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  };
  const runner = await run({ preset: { worker }, taskList: { noop: () => {} }, noHandleSignals: true });
  await runner.promise;
}

(task === "queue" ? queue() : work()).catch((error) => {
  console.error(error);
  process.exit(1);
});
