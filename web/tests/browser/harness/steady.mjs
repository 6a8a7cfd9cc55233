// Makes a page look the same at every run: ports, ids and times are replaced before a picture is taken.

const REPLACED = [
  ['127\\.0\\.0\\.1:\\d+', '127.0.0.1:8080'],
  ['proj_[0-9a-f]{32}', `proj_${'0'.repeat(32)}`],
  ['[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', '00000000-0000-0000-0000-000000000000'],
  ['(\\d+ (second|minute)s? ago)', 'just now'],
  ['\\d{4}-\\d\\d-\\d\\d', '2026-11-17'],
  ['^(< 1|\\d+) s$', '2 s'],
  ['^Finished in .*', 'Finished in 2 s'],
];

export function steady(page) {
  return page.evaluate((replaced) => {
    document.documentElement.style.caretColor = 'transparent';
    const patterns = replaced.map(([pattern, text]) => [new RegExp(pattern, 'g'), text]);
    const steadied = (text) => patterns.reduce((rest, [pattern, put]) => rest.replace(pattern, put), text);
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { currentNode: node } = texts;
      const text = steadied(node.nodeValue);
      if (text !== node.nodeValue) node.nodeValue = text;
    }
  }, REPLACED);
}
