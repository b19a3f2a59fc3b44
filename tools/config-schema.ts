// npm run config-schema: writes the JSON Schema of configuration files, which @toolwright/gateway publishes. The descriptions
// are the comments of the keys in config-schema.ts, so that the API reference and editors show one text.

import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { configJsonSchema } from '../packages/gateway/src/config/config-schema.js';

const GATEWAY = fileURLToPath(new URL('../packages/gateway/', import.meta.url));

interface SchemaNode {
  description?: string;
  properties?: Record<string, SchemaNode>;
  additionalProperties?: SchemaNode | boolean;
  items?: SchemaNode;
  anyOf?: SchemaNode[];
}

/** The JSON Schema with a description of every key. */
export function documentedSchema(): object {
  const file = `${GATEWAY}src/config/config-schema.ts`;
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const variables = new Map<string, ts.Expression>();
  source.forEachChild((statement) => {
    if (!ts.isVariableStatement(statement)) return;
    for (const { name, initializer } of statement.declarationList.declarations)
      if (initializer) variables.set(name.getText(), initializer);
  });

  /** The `z.…()` call at the beginning of a chain, such as `z.array(text)` of `z.array(text).optional()`. */
  const baseOf = (expression: ts.Expression): ts.CallExpression | undefined => {
    if (ts.isIdentifier(expression)) {
      const value = variables.get(expression.text);
      return value && baseOf(value);
    }
    if (!ts.isCallExpression(expression) || !ts.isPropertyAccessExpression(expression.expression)) return undefined;
    const { expression: callee } = expression.expression;
    return callee.getText() === 'z' ? expression : baseOf(callee);
  };
  const describe = (node: SchemaNode, expression: ts.Expression | undefined): void => {
    const base = expression && baseOf(expression);
    const [first, second] = base?.arguments ?? [];
    const inner = typeof node.additionalProperties === 'object' ? node.additionalProperties : node.items;
    if (inner) describe(inner, second ?? first);
    if (node.anyOf && first && ts.isArrayLiteralExpression(first))
      node.anyOf.forEach((option, index) => describe(option, first.elements[index]));
    if (node.properties && first && ts.isObjectLiteralExpression(first)) describeKeys(node.properties, first);
  };
  const describeKeys = (keys: Record<string, SchemaNode>, literal: ts.ObjectLiteralExpression): void => {
    for (const property of literal.properties) {
      const spread = ts.isSpreadAssignment(property) && variables.get(property.expression.getText());
      if (spread && ts.isObjectLiteralExpression(spread)) describeKeys(keys, spread);
      if (!ts.isPropertyAssignment(property)) continue;
      const name = property.name.getText();
      const key = keys[name];
      const comment = ts.getTextOfJSDocComment(ts.getJSDocCommentsAndTags(property)[0]?.comment);
      if (!key || comment === undefined) throw new Error(`The key "${name}" of ${file} has no comment.`);
      key.description = comment;
      describe(key, property.initializer);
    }
  };
  const schema = structuredClone(configJsonSchema()) as SchemaNode;
  describe(schema, variables.get('CONFIG_SCHEMA'));
  return schema;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await writeFile(`${GATEWAY}schema.json`, `${JSON.stringify(documentedSchema(), null, 2)}\n`);
