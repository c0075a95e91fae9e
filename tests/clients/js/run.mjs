// `node run.mjs MODULE FEATURE`: run one case; the exit status tells the outcome.
const [module, feature] = process.argv.slice(2);
const cases = await import(`./${module}.mjs`);
await cases[feature]();
