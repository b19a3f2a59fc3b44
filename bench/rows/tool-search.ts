// hub.search() over 500 tools of real servers, against looking for one word in all their names and descriptions.

import { hubOf, loadQueries, loadTools } from '../../eval/search/dataset.js';
import { compareSingly, reach, type Row } from '../method.js';

export async function toolSearchRows(): Promise<Row[]> {
  const tools = await loadTools();
  const queries = await loadQueries('queries');
  const texts = tools.map(({ name, description }) => `${name} ${description}`.toLowerCase());
  const hub = hubOf(tools);
  await hub.search('warm up');
  let next = 0;
  const nextQuery = (): string => queries[next++ % queries.length]!.query;
  const row = await compareSingly(
    'search 500 tools',
    { name: 'ToolHub.search', run: () => hub.search(nextQuery()) },
    {
      name: 'includes() over all texts',
      run: () => {
        const words = nextQuery().toLowerCase().split(' ');
        return texts.filter((text) => words.some((word) => text.includes(word)));
      },
    },
    { rounds: 25, each: 100, warmUp: 100 },
  );
  await hub.disconnect();
  return [reach(row, row.subjectUs / 1_000, '<=', 5, 'ms')];
}
