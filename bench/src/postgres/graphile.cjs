// Queues jobs that do nothing, or works them off: node graphile.cjs MODULES URL queue COUNT | work
const [modules, connectionString, task, count] = process.argv.slice(2);
const { Logger, makeWorkerUtils, run } = require(require.resolve("graphile-worker", { paths: [modules] }));
const logger = new Logger(() => () => {});

async function queue() {
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  await utils.withPgClient((client) =>
    client.query(
      `SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
       SELECT json_populate_record(NULL::graphile_worker.job_spec,
       json_build_object('identifier', 'noop', 'payload', json_build_object('row', n)))
       FROM generate_series(1, $1::int) n))`,
      [count],
    ),
  );
  await utils.withPgClient((client) => client.query("VACUUM ANALYZE"));
  await utils.release();
}

async function work() {
  console.log("ready");
  await new Promise((go) => process.stdin.once("data", go));
  // Of what was tried, these settings were the fastest.
  const worker = {
    connectionString,
    logger,
    concurrentJobs: 100,
    maxPoolSize: 10,
    pollInterval: 500,
    localQueue: { size: 4000 },
    completeJobBatchDelay: 50,
    failJobBatchDelay: 50,
  };
  const runner = await run({ preset: { worker }, taskList: { noop: () => {} }, noHandleSignals: true });
  await runner.promise;
}

(task === "queue" ? queue() : work()).catch((error) => {
  console.error(error);
  process.exit(1);
});
